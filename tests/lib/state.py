"""The state store, looked at without any code of Tidemark's."""

import sqlite3


class StateStore:
    """A file, or the schema `tidemark` of a database."""

    def __init__(self, tidemark, end=None):
        self.tidemark, self.end = tidemark, end

    def terms(self, lease):
        """For the config."""
        if self.end is None:
            return {"url": f"sqlite:{self.tidemark.state_file}",
                    "lease": lease}
        connection = self.end.connection()
        return {**connection, "lease": lease}

    def query(self, sql):
        """`{t}` stands before the names of tables."""
        if self.end is not None:
            return self.end.query(sql.format(t="tidemark."))
        # A connection of sqlite3 ends its transaction, not itself.
        db = sqlite3.connect(self.tidemark.state_file, timeout=20)
        try:
            return db.execute(sql.format(t="")).fetchall()
        finally:
            db.close()

    def execute(self, sql):
        if self.end is not None:
            self.end.execute(sql.format(t="tidemark."))
            return
        db = sqlite3.connect(self.tidemark.state_file, timeout=20)
        db.execute(sql.format(t=""))
        db.commit()
        db.close()

    def ready(self):
        """The tables are there."""
        try:
            return self.query("SELECT count(error_code) FROM {t}batches")
        except Exception:  # either driver's error: not yet
            return False

    def batches(self):
        """How many batches are on record as loaded."""
        if not self.ready():
            return 0
        return self.query("SELECT count(*) FROM {t}batches "
                          "WHERE error_code IS NULL")[0][0]

    def attempts(self):
        """(state, error_code, pid) of each attempt, in order."""
        return self.query("SELECT state, error_code, pid FROM {t}attempts "
                          "ORDER BY started_at")

    def lease(self):
        """(fence, host, pid, until) of the pipeline's."""
        return self.query("SELECT fence, host, pid, until FROM {t}leases")[0]
