"""Files around the binary: the demo, the compose file, examples."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request

import pytest
import yaml

import ends
import workload
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, Running, sync_items
from servers import CANARY, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSWORDS = {f"{name}_PASSWORD": "secret"
             for name in ("SHOP", "ERP", "WAREHOUSE", "STATE")}


def compose_command():
    """Docker's plug-in if it is there, else Debian's docker-compose."""
    plugin = ["docker", "compose"]
    if shutil.which("docker") and subprocess.run(
            [*plugin, "version"], capture_output=True,
            check=False).returncode == 0:
        return plugin
    return ["docker-compose"]


@pytest.fixture
def compose(tmp_path):
    """Runs it without an .env that may lie about."""
    nothing = tmp_path / "env"
    nothing.touch()

    def run(*args, **env):
        return subprocess.run(
            [*compose_command(), "--env-file", nothing, "-f",
             ROOT / "docker-compose.yml", *args], capture_output=True,
            text=True, check=False,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **env})
    return run


def test_compose_config_passes(compose):
    done = compose("config", **PASSWORDS)
    assert done.returncode == 0, done.stderr
    ports = re.findall(r"host_ip: (\S+)|- ([\d.]+):\d+:\d+", done.stdout)
    assert ["".join(port) for port in ports] == 6 * ["127.0.0.1"], done.stdout


def test_compose_wants_passwords(compose):
    done = compose("config")
    assert done.returncode != 0 and "PASSWORD" in done.stderr


def test_compose_publishes_on_loopback_only():
    """The same rule by the file's text, whatever the environment says."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    ports = re.findall(r'ports: \["([^"]+)"\]', text)
    assert len(ports) == 6
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert not re.search(r"(?<!RANDOM_ROOT)_PASSWORD: [^$\s]", text), "a password in the file"


def test_compose_seals_every_service(compose):
    """By what docker makes of the file; no engine is here to run it."""
    done = compose("--profile", "clickhouse", "--profile", "bigquery",
                   "config", **PASSWORDS)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert {"shop", "customers", "erp", "warehouse", "state",
            "clickhouse", "bigquery", "tidemark"} == set(services)
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"] or name == "clickhouse", name
        assert "cap_add" not in service and "privileged" not in service, name
        # Our own image has its user itself.
        assert name == "tidemark" or service["user"] not in ("", "root", "0")
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER 900:900$", dockerfile, re.M)


def test_compose_is_healthy_while_all_is_well(tidemark, source,
                                              make_destination):
    """The command of its health check: a pipeline that fails is told."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    check = yaml.safe_load(text)["services"]["tidemark"]["healthcheck"]["test"]
    assert check[:2] == ["CMD", "tidemark"]
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    assert tidemark(*check[2:]).code == EXIT_OK
    tidemark.run()
    assert tidemark(*check[2:]).code == EXIT_OK
    source.execute("ALTER TABLE items RENAME TO gone")
    assert tidemark("run").code != EXIT_OK
    assert tidemark(*check[2:]).code == 1


@pytest.mark.parametrize("name, env", (
    ("shop.yaml", {"SHOP": "postgresql://shop@127.0.0.1:1/shop"}),
    ("shop-serve.yaml", {
        "SHOP": "postgresql://shop@127.0.0.1:1/shop",
        "WAREHOUSE": "postgresql://shop@127.0.0.1:1/warehouse",
        "STATE": "state.db", "DEMO_TOKEN": "sixteen-letters-"}),
    ("compose.yaml", PASSWORDS),
    ("mysql-to-postgres.yaml", {
        **PASSWORDS, "ERP": "mysql://erp@127.0.0.1:1/erp",
        "WAREHOUSE": "postgresql://warehouse@127.0.0.1:1/warehouse"}),
    ("postgres-to-mysql.yaml", {
        **PASSWORDS, "SHOP": "postgresql://shop@127.0.0.1:1/shop",
        "MIRROR": "mysql://tidemark@127.0.0.1:1/shop",
        "MIRROR_PASSWORD": "secret"}),
    ("postgres-to-clickhouse.yaml", {
        **PASSWORDS, "SHOP": "postgresql://shop@127.0.0.1:1/shop",
        "LAKE": "clickhouse://tidemark@127.0.0.1:1/shop",
        "LAKE_PASSWORD": "secret"}),
    ("postgres-to-bigquery.yaml", {
        **PASSWORDS, "SHOP": "postgresql://shop@127.0.0.1:1/shop",
        "WAREHOUSE": "bigquery://test/shop",
        "BIGQUERY_EMULATOR_HOST": "127.0.0.1:1"}),
))
def test_examples_are_valid_configs(tidemark, name, env):
    """Parsed and validated: only then is a server asked, which is not there."""
    shutil.copy(ROOT / "examples" / name, tidemark.config)
    os.chmod(tidemark.config, 0o600)
    done = tidemark("check", env=env)
    assert done.code == EXIT_ACCESS, done
    without = tidemark("check")
    assert without.code == EXIT_CONFIG, without


@pytest.fixture
def named_database(mysql_family):
    """A database of the name that an example has."""
    made = []

    def make(server, database):
        mysql_family(server).create_database(database)
        made.append((server, database))
        return ends.MysqlEnd(mysql_family(server), database)

    yield make
    for server, database in made:
        mysql_family(server).drop_database(database)


def run_example(tidemark, name, env):
    """Twice: everything, then nothing."""
    shutil.copy(ROOT / "examples" / name, tidemark.config)
    os.chmod(tidemark.config, 0o600)
    env = {**env, "STATE": os.path.join(tidemark.dir, "example.db")}
    first = tidemark.run(env=env).json()["pipelines"]
    second = tidemark.run(env=env).json()["pipelines"]
    assert all(each["outcome"] == "caught_up" for each in first), first
    return ({each["pipeline"]: each["rows_inserted"] for each in first},
            {each["pipeline"]: each["rows_read"] for each in second})


STOCK = {"warehouse": "text", "product": "int", "quantity": "int",
         "price": "decimal", "updated_at": "timestamptz"}
LINES = {"id": "int", "order_id": "int", "product": "text", "quantity": "int",
         "price": "decimal"}


@pytest.mark.parametrize("server", ("mariadb", "mysql"))
def test_example_mysql_to_postgres(tidemark, named_database, make_database,
                                   server):
    erp, warehouse = named_database(server, "erp"), make_database("warehouse")
    text = (ROOT / "examples/erp.sql").read_text(encoding="utf-8")
    text = re.sub(r"^--.*$", "", text, flags=re.M)
    erp.execute(*(sql for sql in text.split(";\n") if sql.strip()))
    first, second = run_example(tidemark, "mysql-to-postgres.yaml", {
        "ERP": erp.url(), "ERP_PASSWORD": CANARY,
        "WAREHOUSE": warehouse.url(), "WAREHOUSE_PASSWORD": CANARY})
    assert first == {"suppliers": 200, "stock": 1000, "movements": 900}
    assert second == {"suppliers": 0, "stock": 0, "movements": 0}
    assert (sorted(erp.rows("stock", STOCK)) ==
            sorted(warehouse.rows("public.stock", STOCK)))


@pytest.mark.parametrize("server", ("mariadb", "mysql"))
def test_example_postgres_to_mysql(tidemark, named_database, make_database,
                                   server):
    shop, mirror = make_database("shop"), named_database(server, "shop")
    text = (ROOT / "examples/shop.sql").read_text(encoding="utf-8")
    text = re.sub(r"^\\.*$", "", text, flags=re.M)  # psql's own
    shop.execute(text.replace(":customers", "300").replace(":orders", "500"))
    first, second = run_example(tidemark, "postgres-to-mysql.yaml", {
        "SHOP": shop.url(), "SHOP_PASSWORD": CANARY,
        "MIRROR": mirror.url(), "MIRROR_PASSWORD": CANARY})
    assert first == {"customers": 300, "orders": 500, "order_lines": 1500}
    assert second == {"customers": 0, "orders": 0, "order_lines": 0}
    assert (sorted(shop.rows("public.order_lines", LINES)) ==
            sorted(mirror.rows("order_lines", LINES)))


def test_example_postgres_to_bigquery(tidemark, make_database,
                                      make_destination):
    shop, warehouse = make_database("shop"), make_destination("bigquery")
    text = (ROOT / "examples/shop.sql").read_text(encoding="utf-8")
    text = re.sub(r"^\\.*$", "", text, flags=re.M)  # psql's own
    shop.execute(text.replace(":customers", "300").replace(":orders", "500"))
    first, second = run_example(tidemark, "postgres-to-bigquery.yaml", {
        "SHOP": shop.url(), "SHOP_PASSWORD": CANARY,
        "WAREHOUSE": warehouse.url()})
    assert first == {"customers": 300, "orders": 500, "order_lines": 1500}
    assert second == {"customers": 0, "orders": 0, "order_lines": 0}
    assert (sorted(shop.rows("public.order_lines", LINES)) ==
            sorted(warehouse.rows("order_lines", LINES)))


def leftovers():
    return set(pathlib.Path(tempfile.gettempdir()).glob("tidemark-demo.*"))


def test_demo(tidemark_binary):
    """It says what it shows, shows it, and leaves nothing behind."""
    before = leftovers()
    done = subprocess.run(
        [ROOT / "demo"], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=200,
        env={**os.environ, "TIDEMARK_BINARY": tidemark_binary})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal") == 3
    assert "DIFFERENT" not in done.stdout
    assert re.search(r"killed after [1-9]\d* of \d+", done.stdout)
    assert "moves 0 rows" in done.stdout
    assert done.stderr == "", done.stderr
    assert leftovers() == before


def test_demo_serve(tidemark_binary, tmp_path):
    """Its address answers, with what there is to look at; Ctrl-C ends it."""
    before = leftovers()
    demo = Running([str(ROOT / "demo"), "--serve"],
                   {**os.environ, "TIDEMARK_BINARY": tidemark_binary},
                   tmp_path)

    def said(text):
        assert demo.alive(), demo.text
        return re.search(text, demo.text["out"].decode())

    def ask(path):
        request = urllib.request.Request(address + path, headers={
            "Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request) as reply:
            return reply.read().decode()

    def pipelines():
        return {each["pipeline"]: each for each in
                json.loads(ask("api/v1/pipelines"))["pipelines"]}
    try:
        wait_for(lambda: said("Ctrl-C ends"), what="the demo")
        address = said(r"dashboard: (http://\S+/)")[1]
        token = said(r"token: +(\S+)")[1]
        assert "<html" in ask("")
        wait_for(lambda: pipelines()["returns"]["state"] == "failing",
                 what="what fails")
        wait_for(lambda: json.loads(ask("api/v1/chunks?pipeline=orders"))[
            "chunks"], what="the backfill")
        first = pipelines()["customers"]["last_success"]
        wait_for(lambda: pipelines()["customers"]["last_success"] != first,
                 what="the next turn")
    finally:
        os.killpg(demo.process.pid, signal.SIGTERM)
        demo.wait()
    assert leftovers() == before


def test_setup_has_nothing_to_do():
    """The fast path of a prepared machine is silent."""
    done = subprocess.run([ROOT / "tools/setup", "--tests"],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
