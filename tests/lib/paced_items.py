"""One table that is read gently: what the tests of it share."""

import sqlite3

from bench import sync_items
from servers import wait_for


def paced(tidemark, source, destination, strategy="timestamp", **pace):
    sync_items(tidemark, source, destination, strategy, pace=pace)
    tidemark.top["state"] = {"url": f"sqlite:{tidemark.state_file}",
                             "lease": "1s"}
    return tidemark.write_config()


def paused(tidemark):
    """The hold that `status` shows for the one pipeline."""
    return tidemark("status", "--json").pipeline()["paused"]


def wait_until_held(tidemark, by):
    def held():
        now = paused(tidemark)
        return now if now and now["by"] == by else None
    return wait_for(held, step=0.2, what=f"a run held by {by}")


def batches(tidemark):
    """(when, rows) of each batch, in order; seconds."""
    with sqlite3.connect(tidemark.state_file) as db:
        return [(at / 1e6, rows) for at, rows in db.execute(
            "SELECT loaded_at, rows_read FROM batches ORDER BY number")]
