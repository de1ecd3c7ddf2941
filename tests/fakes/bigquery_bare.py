"""BigQuery as a small emulator has it: statements and no transactions.

An unknown statement is refused in the words of goccy/bigquery-emulator. BEGIN,
COMMIT and ASSERT succeed and do nothing, as in that emulator.
(bigquery_front.py --bare)
"""

import re

from bigquery_sql import Script, split_script
from bigquery_tables import Refused

# Statements, and the errors that answer them.
UNKNOWN = (
    (r"@@row_count\b", "failed to analyze: Unrecognized name: @@row_count"),
    (r"^ROLLBACK", "failed to analyze: Statement not supported: "
     "RollbackStatement"),
    (r"^UPDATE\b.*\bFROM\b", "failed to analyze: Update with joins not "
     "supported"),
    (r"^MERGE\b.*?\bUSING\s+(?![\w`])", "MERGE: source must be a single-table"
     " reference, got *googlesql.ResolvedProjectScan"),
    (r"^ALTER\b.*\bSET\s+DATA\s+TYPE", "failed to analyze: ALTER TABLE does "
     "not support ALTER COLUMN SET DATA TYPE"),
    (r"^CREATE\s+OR\s+REPLACE\s+TABLE", "table: table is already created"),
)


def unknown(message):
    return Refused(400, "jobInternalError", message)


def outermost(text):
    """Without what stands in parentheses."""
    while True:
        less = re.sub(r"\([^()]*\)", " ", text)
        if less == text:
            return text
        text = less


class BareScript(Script):
    """Each statement lasts, whatever becomes of the next."""

    def run(self):
        statements = split_script(self.text)
        for text in statements:
            for pattern, said in UNKNOWN:
                if re.search(pattern, outermost(text),
                             re.IGNORECASE | re.DOTALL):
                    raise unknown(said + " [at 1:1]")
        if len(statements) > 1 and self.given:
            raise unknown(f"failed to query {self.text}: sql: expected 0 "
                          f"arguments, got {len(self.given)}")
        try:
            super().run()
        except Refused as refused:
            missing = re.search(r"Not found: Table [^:]*:(\S+)",
                                refused.message)
            if missing:
                raise unknown("failed to analyze: Table not found: "
                              f"{missing[1]} [at 1:1]") from refused
            raise

    def check(self, text):
        """ASSERT is taken for done."""

    def begin(self, _):
        """So is this."""

    def commit(self, _):
        """And this."""
