"""SQL against MariaDB and MySQL, as destination_client.h has it for a lasting
client. The place is a URL. Rows are a|b lines, with NULL for NULL, and errors
are text."""
import urllib.parse

import pymysql
from pymysql.constants import CLIENT

from lasting import serve


def connect(place):
    url = urllib.parse.urlsplit(place)
    return pymysql.connect(
        host=url.hostname, port=url.port, user=url.username,
        password=url.password or "", database=url.path.lstrip("/"),
        charset="utf8mb4", autocommit=True,
        client_flag=CLIENT.MULTI_STATEMENTS,
        init_command="SET time_zone = '+00:00', sql_mode = "
                     "'ANSI_QUOTES,STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES'")


def rows(place, sql):
    with connect(place) as db, db.cursor() as cursor:
        cursor.execute(sql)
        while True:
            for row in cursor.fetchall() if cursor.description else ():
                yield "|".join("NULL" if value is None else str(value)
                               for value in row)
            if not cursor.nextset():
                return


def answer(place, sql):
    try:
        return 0, "\n".join(rows(place, sql))
    except pymysql.Error as error:
        return 1, str(error)


serve(answer)
