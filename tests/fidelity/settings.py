"""Settings of others at a server: other notations, another zone, another
character set. None of it may show in a value.
"""

import os

# Programs around Tidemark read these; its own sessions go by none of it.
ENVIRONMENT = {
    "TZ": "Asia/Kathmandu", "PGTZ": "Asia/Kathmandu",
    "PGDATESTYLE": "SQL, DMY", "PGCLIENTENCODING": "LATIN1",
    "PGOPTIONS": "-c extra_float_digits=-15 -c bytea_output=escape",
    "LC_ALL": "C", "LANG": "C",
}
HOME = {
    ".my.cnf": "[client]\ndefault-character-set = latin1\n"
               "init-command = \"SET time_zone = '-09:30'\"\n",
    ".duckdbrc": "SET TimeZone = 'Asia/Kathmandu';\n",
    ".sqliterc": "PRAGMA encoding = 'UTF-16be';\n",
}

POSTGRES = {
    "DateStyle": "'SQL, DMY'",
    "IntervalStyle": "'sql_standard'",
    "TimeZone": "'Asia/Kathmandu'",
    "extra_float_digits": "-15",
    "bytea_output": "'escape'",
    "array_nulls": "off",
    "xmloption": "'document'",
    "xmlbinary": "'hex'",
    "standard_conforming_strings": "off",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "search_path": "nowhere",
}
POSTGRES_SETTLED = (
    "SET DateStyle = 'ISO, YMD'", "SET IntervalStyle = 'postgres'",
    "SET TimeZone = 'UTC'", "SET extra_float_digits = 1",
    "SET bytea_output = 'hex'", "SET standard_conforming_strings = on",
    "SET quote_all_identifiers = off", "SET search_path = ''")

MYSQL = {
    "time_zone": "'-09:30'",
    "sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT,PAD_CHAR_TO_FULL_LENGTH,"
                "HIGH_NOT_PRECEDENCE,IGNORE_SPACE,REAL_AS_FLOAT'",
    "sql_select_limit": "1",
    "character_set_server": "latin1",
}
MYSQL_SETTLED = ("SET sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00',"
                 " sql_select_limit = 18446744073709551615")


def unsettle(end):
    """Set all this at the server of `end`."""
    if end.engine == "postgres":
        with end.cluster.admin() as admin:
            for name, value in POSTGRES.items():
                admin.execute(f'ALTER DATABASE "{end.database}"'
                              f" SET {name} = {value}")
    elif end.engine in ("mariadb", "mysql"):
        with end.server.admin() as db, db.cursor() as cursor:
            for name, value in MYSQL.items():
                cursor.execute(f"SET GLOBAL {name} = {value}")
            cursor.execute(f"ALTER DATABASE `{end.database}`"
                           " CHARACTER SET latin1")
    elif end.engine == "sqlite" and not os.path.exists(end.path):
        end.execute("PRAGMA encoding = 'UTF-16be'", "CREATE TABLE other (x)")


def surround(tidemark):
    """Set all this around the program."""
    tidemark.env.update(ENVIRONMENT)
    for name, text in HOME.items():
        with open(os.path.join(tidemark.env["HOME"], name), "w",
                  encoding="utf-8") as out:
            out.write(text)
