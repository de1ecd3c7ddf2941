"""SQL against ClickHouse over HTTP, as destination_client.h has it for a
lasting client: rows as a|b lines, NULL for NULL, what went wrong as text.

Readers see views, which take no writes: what a test writes by hand goes to the
table behind one. A row of a raw table is changed as the engine does it, by
one with a higher version.
"""
import json
import re
import urllib.error
import urllib.parse
import urllib.request

from lasting import serve

SETTINGS = " SETTINGS output_format_decimal_trailing_zeros = 1"
NULL = "\u1d3a\u1d41\u1d38\u1d38"  # as the format has it
UPDATE = re.compile(r"UPDATE (\w+) SET (.*?)(?: WHERE (.*))?$", re.I | re.S)


def ask(place, sql):
    url = urllib.parse.urlsplit(place)
    request = urllib.request.Request(
        f"http://{url.hostname}:{url.port}/?database={url.path[1:]}",
        data=sql.encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode(errors="surrogateescape")


def is_view(place, table):
    return "1\n" == ask(
        place, "SELECT count() FROM system.tables WHERE engine = 'View'"
        f" AND database = currentDatabase() AND name = '{table}'")


def update(table, changes, where):
    replaced = ", ".join(f"{value} AS {name}" for name, value in re.findall(
        r"(\w+) = ('(?:[^']|'')*'|[^,]+)", changes))
    return (f"INSERT INTO {table}_raw SELECT * REPLACE ({replaced}, "
            "_tidemark_version + 1 AS _tidemark_version) FROM "
            f"{table}_raw FINAL WHERE {where or 1}")


def translated(place, sql):
    """The statements that do it here."""
    changed = UPDATE.match(sql)
    if changed:
        return [update(*changed.groups())]
    words = sql.split()
    if sql.startswith("DELETE FROM") and is_view(place, words[2]):
        return [f"DELETE FROM {words[2]}_raw "
                + (" ".join(words[3:]) or "WHERE 1")]
    if sql.startswith("DELETE FROM") and len(words) == 3:
        return [f"{sql} WHERE 1"]
    if sql.startswith("ALTER TABLE") and is_view(place, words[2]):
        return [sql.replace(words[2], words[2] + "_raw", 1)
                .replace("timestamp NULL", "Nullable(DateTime64(6, 'UTC'))")]
    if sql.startswith("DROP TABLE") and is_view(place, words[2]):
        return [f"DROP VIEW {words[2]}", f"DROP TABLE {words[2]}_raw SYNC"]
    return [sql]


def rows(place, sql):
    for part in re.split(r";(?=(?:[^']|'[^']*')*$)", sql):
        for statement in translated(place, part.strip()) if part.strip() else ():
            if not statement.upper().startswith(("SELECT", "SHOW")):
                ask(place, statement)
                continue
            said = ask(place, statement + SETTINGS
                       + "\nFORMAT JSONCompactStringsEachRow")
            for line in said.splitlines():
                yield "|".join("NULL" if value == NULL else value
                               for value in json.loads(line))


def answer(place, sql):
    try:
        return 0, "\n".join(rows(place, sql))
    except urllib.error.HTTPError as error:
        return 1, error.read().decode(errors="replace")


serve(answer)
