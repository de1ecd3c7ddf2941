"""SQL against PostgreSQL, as destination_client.h has it for a lasting client.
The place is a URL. Rows are a|b lines, with NULL for NULL, and errors are text.
Values are shown as the server prints them."""
from psycopg import pq

from lasting import serve

SETTINGS = b"SET client_min_messages = warning"


class Failed(Exception):
    """The server's own words."""


def checked(result):
    if result.status == pq.ExecStatus.FATAL_ERROR:
        raise Failed(result.error_message.decode(errors="replace"))
    return result


def lines(result):
    for row in range(result.ntuples):
        values = (result.get_value(row, at) for at in range(result.nfields))
        yield "|".join("NULL" if value is None else bytes(value).decode()
                       for value in values)


def rows(place, sql):
    db = pq.PGconn.connect(place.encode())
    try:
        if db.status != pq.ConnStatus.OK:
            raise Failed(db.error_message.decode(errors="replace"))
        checked(db.exec_(SETTINGS))
        db.send_query(sql.encode())
        while result := db.get_result():
            yield from lines(checked(result))
    finally:
        db.finish()


def answer(place, sql):
    try:
        return 0, "\n".join(rows(place, sql))
    except Failed as error:
        return 1, str(error)


serve(answer)
