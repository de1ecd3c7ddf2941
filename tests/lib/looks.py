"""What `tidemark verify` says, and the values that it is about."""

from bench import EXIT_OK


def verify(tidemark, *args, expect=EXIT_OK):
    done = tidemark("verify", "--json", *args).expect(expect)
    return {each["pipeline"]: each for each in done.json()["pipelines"]}


def named(result):
    """{kind: ids} of the examples."""
    found = {}
    for example in result["examples"]:
        found.setdefault(example["kind"], set()).add(example["key"]["id"])
    return found


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value!r}e0"
    return "'" + str(value).replace("'", "''") + "'"


def set_value(end, key, column, value, table="items"):
    end.execute(f"UPDATE {table} SET {column} = {literal(value)} "
                f"WHERE id = {key}")


def get_value(end, key, column, kind, table="items"):
    row = end.rows(f"{end.schema}.{table}", {"id": "int", column: kind})
    return dict(row)[key]
