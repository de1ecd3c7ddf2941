"""A lasting client's side of the protocol in lasting_client.c. A request is
"LENGTH PLACE", a line, and SQL of that length. The answer is "STATUS LENGTH", a
line, and a text."""
import sys


def serve(answer):
    """`answer` of a place and SQL: 0 and rows as a|b lines, NULL for NULL; or 1
    and what went wrong."""
    for line in sys.stdin.buffer:
        length, place = line.decode().rstrip("\n").split(" ", 1)
        sql = sys.stdin.buffer.read(int(length)).decode()
        status, text = answer(place, sql)
        data = text.encode()
        sys.stdout.buffer.write(b"%d %d\n%b" % (status, len(data), data))
        sys.stdout.buffer.flush()
