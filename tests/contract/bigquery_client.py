"""SQL against BigQuery's API, as destination_client.h has it for a lasting
client: rows as a|b lines, NULL for NULL, what went wrong as text."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from bigquery_servers import ApiError, Client  # noqa: E402

from lasting import serve  # noqa: E402


def answer(place, sql):
    project, dataset = place.removeprefix("bigquery://").split("?")[0].split("/")
    client = Client(os.environ["BIGQUERY_EMULATOR_HOST"], project)
    try:
        _, rows = client.query(sql, dataset)
    except ApiError as error:
        return 1, str(error)
    return 0, "\n".join("|".join("NULL" if value is None else value
                                 for value in row) for row in rows)


serve(answer)
