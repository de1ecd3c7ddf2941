"""SQL on standard input against a DuckDB file: rows as a|b lines, NULL for NULL."""
import sys

import duckdb

connection = duckdb.connect(sys.argv[1])
connection.execute("SET TimeZone = 'UTC'")
for statement in duckdb.extract_statements(sys.stdin.read()):
    for row in connection.execute(statement).fetchall():
        print("|".join("NULL" if value is None else str(value) for value in row))
