"""What others have set at a server: other notations, another zone, another
character set. None of it may show in a value.
"""

import os

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
