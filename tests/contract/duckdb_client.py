"""SQL against DuckDB files, as destination_client.h has it for a lasting
client: rows as a|b lines, NULL for NULL, what went wrong as text."""
import duckdb

from lasting import serve


def rows(place, sql):
    with duckdb.connect(place) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in duckdb.extract_statements(sql):
            for row in connection.execute(statement).fetchall():
                yield "|".join("NULL" if value is None else str(value)
                               for value in row)


def answer(place, sql):
    try:
        return 0, "\n".join(rows(place, sql))
    except duckdb.Error as error:
        return 1, str(error)


serve(answer)
