"""A server that has let somebody in and says nothing more: a signal ends all
that waits for it."""

import signal
import time

import pytest

import workload
from bench import EXIT_STOPPED, sync_items
from proxy import DOWN, Fault, Proxy
from servers import wait_for


def passed_in_all(tidemark, proxy, *command):
    """Bytes that come back while nothing is wrong."""
    fault = proxy.arm(Fault("stall", DOWN, after=1 << 40))
    tidemark(*command).expect(0)
    return fault.passed


def silenced(tidemark, proxy, command):
    """Waiting for what no longer comes. Where more was said the first time, as
    when a busy machine had it ask twice, half of that may be all: once more."""
    for _ in range(5):
        half = passed_in_all(tidemark, proxy, command, "--json") // 2
        fault = proxy.arm(Fault("stall", DOWN, after=half, lasting=True))
        call = tidemark.start(command, "--json")
        wait_for(lambda: fault.struck or not call.alive(), 60, 0.05,
                 "silence")
        if fault.struck:
            return call
        call.wait()
    raise AssertionError(f"{command} says less each time")


def stopped(tidemark, proxy, command):
    """Silent in the middle of what it has to say."""
    call = silenced(tidemark, proxy, command)
    time.sleep(0.3)
    begun = time.monotonic()
    call.signal(signal.SIGTERM)
    done = call.wait().expect(EXIT_STOPPED)
    took = time.monotonic() - begun
    proxy.heal()
    assert took < 8, f"{command}: {took:.1f} s"
    assert "stopped by a signal" in done.err
    return done.json()["pipelines"]


@pytest.mark.parametrize("command", ("check", "status", "verify"))
@pytest.mark.parametrize("side", ("source", "warehouse"))
def test_a_signal_while_a_server_is_silent(tidemark, make_source,
                                           make_destination, side, command):
    kinds = {"source": "sqlite", "warehouse": "sqlite", side: "mariadb"}
    ends = {"source": make_source(kinds["source"]),
            "warehouse": make_destination(kinds["warehouse"])}
    workload.create_items(ends["source"], rows=20)
    sync_items(tidemark, ends["source"], ends["warehouse"], "timestamp")
    tidemark.run()
    with Proxy(ends[side].server.port) as proxy:
        tidemark.connect(side, proxy.connection(ends[side], "60s", "60s"))
        tidemark.write_config()
        shown = stopped(tidemark, proxy, command)
    # What was cut short is not shown as if it were known.
    assert shown == [] or command == "verify" and not shown[0]["equal"]
