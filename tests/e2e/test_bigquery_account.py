"""Signing in at BigQuery: a service account, the machine's own account, tokens
that end."""

import json
import os
import signal
import time

import pytest

import bigquery_servers
import workload
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, sync_items
from bigquery_items import ROWS, check, end, front, items
from ends import BigqueryEnd
from servers import wait_for


@pytest.fixture(scope="module")
def strict_front():
    """A front of its own, which asks who one is."""
    front = bigquery_servers.Front("--sign-in").start()
    yield front
    front.remove()


@pytest.fixture
def account(strict_front, work_dir):
    path = work_dir / "account.json"
    path.write_text(json.dumps(strict_front.call("GET", "/_account")))
    path.chmod(0o600)
    return path


def sign_in(tidemark, source, front, account=None, **env):
    """A run of a table into the strict front."""
    dataset = f"signed_{os.urandom(4).hex()}"
    options = {"credentials": account} if account else {}
    token = front.call(
        "GET", "/computeMetadata/v1/instance/service-accounts/default/token")
    front.headers["Authorization"] = "Bearer " + token["access_token"]
    front.create_dataset(dataset)
    end = BigqueryEnd(front, dataset)
    sync_items(tidemark, source, end, "timestamp")
    tidemark.connect("warehouse", end.url(**options)).write_config()
    done = tidemark("run", "--json",
                    env={bigquery_servers.HOST: front.host, **env})
    assert "ya29." not in done.out + done.err
    assert "PRIVATE KEY" not in done.out + done.err
    return end, done


@pytest.fixture
def flavored(strict_front):
    strict_front.headers["Metadata-Flavor"] = "Google"
    return strict_front


def test_signed_in_by_an_account(tidemark, items, flavored, account):
    end, done = sign_in(tidemark, items, flavored, account)
    assert done.expect(EXIT_OK).pipeline()["rows_inserted"] == ROWS
    check(items, end)


def test_signed_in_by_the_variable(tidemark, items, flavored, account):
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST="127.0.0.1:9",
                      GOOGLE_APPLICATION_CREDENTIALS=str(account))
    done.expect(EXIT_OK)


def test_signed_in_by_the_metadata_server(tidemark, items, flavored):
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST=flavored.host)
    done.expect(EXIT_OK)


def test_no_metadata_server(tidemark, items, flavored):
    """Off the machines that have one: what else there is."""
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST="127.0.0.1:9")
    done.expect(EXIT_ACCESS)
    assert "credentials=PATH" in done.out


def test_metadata_server_that_is_none(tidemark, items, flavored, end):
    """A server that does not say that it is a metadata server is not believed."""
    if not end.front.ours:
        pytest.skip("an emulator is no metadata server")
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST=end.front.host)
    assert "is not it" in done.expect(EXIT_ACCESS).out


@pytest.mark.parametrize("whose", ("account", "metadata"))
def test_token_that_lives_briefly(tidemark_failpoints, items, flavored,
                                  account, whose):
    """It is renewed in the middle of a run, before it runs out."""
    tidemark = tidemark_failpoints
    end, done = sign_in(tidemark, items, flavored, account)
    done.expect(EXIT_OK)
    env = {bigquery_servers.HOST: flavored.host}
    if whose == "metadata":
        env["GCE_METADATA_HOST"] = flavored.host
        tidemark.connect("warehouse", end.url()).write_config()
    workload.change_items(items, "id % 2 = 0")
    workload.settle(items)
    flavored.call("POST", "/_expire", {"seconds": 61})
    flavored.log()
    run = tidemark.start("run", "--json", env=env,
                         failpoints="before_merge=stop")
    wait_for(run.stopped, step=0.01, what="the failpoint")
    time.sleep(1.5)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    asked = [line for line in flavored.log()
             if line.endswith("/token") and "_" not in line]
    flavored.call("POST", "/_expire", {})
    token = flavored.call(
        "GET", "/computeMetadata/v1/instance/service-accounts/default/token")
    flavored.headers["Authorization"] = "Bearer " + token["access_token"]
    assert len(asked) >= 2
    check(items, end)


def test_token_that_runs_out(tidemark_failpoints, items, flavored, account):
    """In the middle of a run: another is fetched, and nobody notices."""
    tidemark = tidemark_failpoints
    end, done = sign_in(tidemark, items, flavored, account)
    done.expect(EXIT_OK)
    workload.change_items(items, "id % 2 = 0")
    workload.settle(items)
    env = {bigquery_servers.HOST: flavored.host}
    run = tidemark.start("run", "--json", env=env,
                         failpoints="before_merge=stop")
    wait_for(run.stopped, step=0.01, what="the failpoint")
    flavored.call("POST", "/_expire", {})
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    token = flavored.call(
        "GET", "/computeMetadata/v1/instance/service-accounts/default/token")
    flavored.headers["Authorization"] = "Bearer " + token["access_token"]
    check(items, end)


def test_account_that_is_not_known(tidemark, items, flavored, account):
    forged = json.loads(account.read_text())
    forged["client_email"] = "somebody@elsewhere.iam.gserviceaccount.com"
    account.write_text(json.dumps(forged))
    _, done = sign_in(tidemark, items, flavored, account)
    assert "invalid JWT" in done.expect(EXIT_ACCESS).err.replace("Inv", "inv")


def test_credentials_that_are_refused(tidemark, items, end, account):
    for change, word in (
            (lambda: account.chmod(0o644), "chmod 600"),
            (lambda: account.write_text('{"type": "authorized_user"}'),
             "service account"),
            (lambda: account.write_text("no JSON"), "service account"),
            (account.unlink, "cannot be read")):
        account.parent.joinpath("state.db").unlink(missing_ok=True)
        change()
        sync_items(tidemark, items, end, "timestamp")
        tidemark.connect("warehouse", end.url(credentials=account))
        done = tidemark.write_config()("run", "--json").expect(EXIT_CONFIG)
        assert word in done.out + done.err
        if account.exists():
            account.chmod(0o600)
