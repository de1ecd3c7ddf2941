"""The crash suite's server writes to disk as a real one does."""

import pytest

from servers import Cluster


@pytest.fixture(scope="session")
def cluster():
    server = Cluster("crash", fsync=True).create().start().prepare()
    yield server
    server.remove()
