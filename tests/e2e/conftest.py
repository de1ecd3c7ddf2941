"""What several files of this suite need."""

import pytest

import mysql_servers

ENGINES = ("mariadb", "mysql")


# In one worker each, which starts it once.
@pytest.fixture(scope="session", params=[
    pytest.param(engine, marks=pytest.mark.xdist_group("small-" + engine))
    for engine in ENGINES])
def small_server(request):
    """A MariaDB or MySQL of its own, to be killed or filled up: without
    performance schema, as small ones are, and with little room: in MariaDB for
    temporary tables, in MySQL for those that are made under
    innodb_file_per_table = 0."""
    kind = mysql_servers.SERVERS[request.param]
    if kind.missing():
        pytest.skip(kind.missing())
    settings = ["--performance-schema=OFF",
                "--innodb-flush-log-at-trx-commit=1",
                "--innodb-data-file-path=ibdata1:12M:autoextend:max:24M"
                if request.param == "mysql" else
                "--innodb-temp-data-file-path=ibtmp1:8M:autoextend:max:10M"]
    server = kind(settings).create().start().prepare()
    server.create_database("shop")
    yield server
    server.remove()
