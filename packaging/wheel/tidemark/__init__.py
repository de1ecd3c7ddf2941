"""Tidemark from Python: the program is run, and its JSON is returned.

    import tidemark

    tidemark.run("orders", config="tidemark.yaml")
    try:
        tidemark.verify("orders", config="tidemark.yaml")
    except tidemark.Different as error:
        print(error.result["pipelines"][0]["examples"])

Each exit code but 0 raises an exception of its own, all of them `Error`. Log lines
go to the logger "tidemark" as they come.
"""

from ._build import VERSION as __version__
from ._call import call, run, verify
from ._errors import (Access, Busy, Config, Crashed, Data, Different, Error,
                      Failed, Schema, Stopped, TimedOut)

__all__ = ["Access", "Busy", "Config", "Crashed", "Data", "Different", "Error",
           "Failed", "Schema", "Stopped", "TimedOut", "__version__", "call",
           "run", "verify"]
