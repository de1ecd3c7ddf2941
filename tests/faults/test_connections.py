"""Connections that are cut, that stall, that work one way only, at chosen
bytes: of the source, of the destination, of the state store."""


import pytest

import bigquery_servers
from bad_days import HASTY
from bench import EXIT_ACCESS, EXIT_DATA, EXIT_OK
from proxy import DOWN, KINDS, UP, Fault
from servers import wait_for

# The end with the bad connection. The other end is a PostgreSQL or a file.
PLACES = ("source-postgres", "source-mariadb", "source-mysql",
          "warehouse-postgres", "warehouse-mariadb", "warehouse-mysql",
          "warehouse-clickhouse", "warehouse-bigquery", "state-postgres")
# The way, and how far into what goes over it in a whole run.
MOMENTS = ((DOWN, 0), (DOWN, 0.3), (UP, 0.55), (DOWN, 0.8), (UP, 0.9))
measured = {}


class Spoilt:
    """A pipeline one of whose connections goes through a proxy."""

    def __init__(self, make_day, make_proxy, make_database, place, **more):
        self.part, engine = place.split("-")
        engines = {self.part: engine} if self.part != "state" else {}
        self.day = make_day(engines.get("source", "postgres"),
                            engines.get("warehouse", "sqlite"),
                            batch={"rows": 250, "target": "1ms"},
                            retry=HASTY, **more)
        end = {"source": self.day.source, "warehouse": self.day.destination,
               "state": None}[self.part] or make_database("state")
        self.proxy = make_proxy(end)
        self.key = (place, tuple(more.items()))
        self.connect(self.proxy.connection(end, connect="2s", silence="1s"))

    def connect(self, connection):
        if "bigquery" in self.key[0]:  # its URL has no host
            self.day.tidemark.env[bigquery_servers.HOST] = \
                f"127.0.0.1:{self.proxy.port}"
        if self.part == "state":
            self.day.tidemark.top["state"] = connection
        else:
            self.day.tidemark.connect(self.part, connection)
        self.day.tidemark.write_config()

    def may_give_up(self, kind):
        """Does the run end without another try? It does when it loses its
        store. A destination that has not heard of the end keeps the old session
        and its locks."""
        return self.part == "state" or (
            self.part == "warehouse" and kind in ("stall", "deaf"))

    def arm(self, kind, moment, lasting):
        way, share = moment
        return self.proxy.arm(Fault(
            kind, way, int(measured[self.key][way] * share) + 1, lasting))


@pytest.fixture
def spoil(make_day, make_proxy, make_database):
    def make(place, attempts=4, **more):
        spoilt = Spoilt(make_day, make_proxy, make_database, place, **more)
        if spoilt.key not in measured:
            # On a busy machine the best of days may be too slow for HASTY.
            if spoilt.day.tidemark("run", "--json").code == EXIT_OK:
                measured[spoilt.key] = dict(spoilt.proxy.passed)
            elif attempts == 1:
                raise AssertionError("no run without a fault gets through")
            return make(place, attempts - 1, **more)
        return spoilt
    return make


@pytest.mark.thinned(10)
@pytest.mark.parametrize("lasting", (False, True), ids=("once", "lasting"))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", MOMENTS,
                         ids=[f"{way}-{share}" for way, share in MOMENTS])
@pytest.mark.parametrize("place", PLACES)
def test_connection_goes_bad(spoil, place, moment, kind, lasting):
    """Retried, or told with exit 3; it ends, and nothing is lost."""
    for _ in range(3):
        spoilt = spoil(place)
        fault = spoilt.arm(kind, moment, lasting)
        done = spoilt.day.tidemark("run", "--json")
        if fault.struck:
            break
        # It had less to say than the run that was measured.
        measured[spoilt.key] = dict(spoilt.proxy.passed)
    assert fault.struck, "the fault's byte was never reached"
    assert done.code in (EXIT_OK, EXIT_ACCESS), done
    if done.code == EXIT_ACCESS:
        message = done.pipeline()["error"]["message"]
        assert str(spoilt.proxy.port) in message, message
    spoilt.proxy.heal()
    retried = spoilt.day.survives(done)
    assert retried or lasting or spoilt.may_give_up(kind), done


def test_end_together_with_rows(make_day, make_proxy):
    """Met behind rows that were to be taken first; told when they have been,
    not when the silence has lasted for long."""
    day = make_day(rows=4000, retry=HASTY)
    proxy = make_proxy(day.source)
    day.tidemark.connect("source", proxy.connection(day.source, silence="1h"))
    day.tidemark.write_config()
    fault = proxy.arm(Fault("close", DOWN, 60000))
    day.tidemark("run").expect(EXIT_OK)
    assert fault.struck, "the fault's byte was never reached"
    day.check()


def test_cancel_without_an_answer(make_day, make_proxy):
    """A row that cannot be read gives up a stream of many more. The cancel is
    sent by a connection of its own, to which nobody says a word."""
    day = make_day(rows=4000)
    day.source.execute(
        "ALTER TABLE items ADD far timestamptz",
        "UPDATE items SET far = '294276-12-31', payload = ''::bytea "
        "WHERE id = 10",
        "UPDATE items SET payload = decode(repeat(md5(id::text), 500), 'hex') "
        "WHERE id > 10")
    proxy = make_proxy(day.source)
    day.tidemark.connect("source", proxy.connection(day.source, connect="2s"))
    day.tidemark.write_config()
    with day.source.connect(autocommit=False) as db:
        db.execute("LOCK TABLE items")
        running = day.tidemark.start("run", "--json")
        wait_for(lambda: proxy.links or not running.alive(), step=0.01,
                 what="the session of the source")
        proxy.refuse("deaf")
        db.rollback()
    message = running.wait().expect(EXIT_DATA).pipeline()["error"]["message"]
    assert "far" in message and "id=10" in message, message
    assert proxy.unserved, "there was no cancel"
