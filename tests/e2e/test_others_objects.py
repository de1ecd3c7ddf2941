"""Somebody else has made objects under Tidemark's names, or has added to them.
Code in them would run with the rights of the pipeline's role. Each attack
writes its victim's name into a table that only the victim may write."""

import contextlib

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from servers import ADMIN, APP
from test_target_altered import alter

# The attacker's trigger does this with the rights of its victim. A role that
# cannot write there goes on, as a careful attacker would.
CANARY_SQL = """
CREATE FUNCTION {schema}.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    INSERT INTO public.canary VALUES (current_user);
  EXCEPTION WHEN OTHERS THEN NULL;
  END;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  IF TG_RELNAME = 'kid' THEN RETURN NULL; END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION {schema}.peek() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    INSERT INTO public.canary VALUES (current_user);
  EXCEPTION WHEN OTHERS THEN NULL;
  END;
  RETURN true;
END $$
"""

MARKS = """CREATE TABLE public._tidemark_watermark (
  pipeline text PRIMARY KEY, watermark json,
  batch_id text NOT NULL DEFAULT '', fence bigint NOT NULL DEFAULT 0,
  rows_total bigint NOT NULL DEFAULT 0,
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  created_target boolean NOT NULL DEFAULT false,
  target text NOT NULL DEFAULT '', target_id text NOT NULL DEFAULT '',
  target_rows bigint NOT NULL DEFAULT 0)"""
OPEN = "GRANT ALL ON public._tidemark_watermark TO PUBLIC"
TRIGGER = ("CREATE TRIGGER helper BEFORE INSERT OR UPDATE OR DELETE ON"
           " public._tidemark_watermark FOR EACH ROW EXECUTE FUNCTION {}")

# Rows of a child are rows of its parent: a statement fires triggers of both.
CHILD = """CREATE TABLE mallory.kid () INHERITS ({table});
INSERT INTO mallory.kid SELECT * FROM ONLY {table};
CREATE TRIGGER helper BEFORE UPDATE ON mallory.kid FOR EACH ROW
EXECUTE FUNCTION mallory.take(); GRANT ALL ON mallory.kid TO PUBLIC"""
# A cascade has the rights of the table that it reaches, a deferred trigger
# those of whoever commits.
REFERENCE = """CREATE TABLE mallory.g (key text
REFERENCES {table} ON DELETE CASCADE);
INSERT INTO mallory.g SELECT {key} FROM {table};
CREATE CONSTRAINT TRIGGER helper AFTER DELETE ON mallory.g DEFERRABLE
INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mallory.take()"""

# The attack, what it does, as whom: the mark table's owner or the attacker;
# what is named.
ATTACKS = {
    "trigger": ([MARKS, OPEN, TRIGGER.format("mallory.take()")],
                "belongs to role mallory"),
    "row-policy": ([MARKS, OPEN, "ALTER TABLE public._tidemark_watermark"
                    " ENABLE ROW LEVEL SECURITY",
                    "CREATE POLICY p ON public._tidemark_watermark"
                    " USING (mallory.peek())"], "belongs to role mallory"),
    "view": (["CREATE TABLE mallory.marks AS SELECT ''::text AS pipeline,"
              " '{}'::json AS watermark, ''::text AS batch_id,"
              " 0::bigint AS fence, 0::bigint AS rows_total,"
              " now() AS updated_at, false AS created_target,"
              " ''::text AS target, ''::text AS target_id,"
              " 0::bigint AS target_rows",
              "CREATE VIEW public._tidemark_watermark AS"
              " SELECT * FROM mallory.marks WHERE mallory.peek()",
              OPEN], "belongs to role mallory"),
    # It runs for whoever looks, whatever rows are looked for.
    "function": (["CREATE TABLE mallory.marks AS SELECT ''::text AS pipeline,"
                  " '{}'::json AS watermark, ''::text AS batch_id,"
                  " 0::bigint AS fence, 0::bigint AS rows_total,"
                  " now() AS updated_at, false AS created_target,"
                  " ''::text AS target, ''::text AS target_id,"
                  " 0::bigint AS target_rows",
                  "CREATE FUNCTION mallory.rows() RETURNS SETOF mallory.marks"
                  " LANGUAGE plpgsql SECURITY INVOKER AS 'BEGIN PERFORM"
                  " mallory.peek(); RETURN; END'",
                  "CREATE VIEW public._tidemark_watermark AS"
                  " SELECT * FROM mallory.rows()",
                  OPEN], "belongs to role mallory"),
    "default": ([MARKS.replace("DEFAULT false",
                               "DEFAULT mallory.peek()"), OPEN],
                "belongs to role mallory"),
}
# On a table of our own, by whoever was given the right to.
ADDED = {
    "trigger": ([TRIGGER.format("mallory.take()")], "trigger helper"),
    "check": (["ALTER TABLE public._tidemark_watermark ADD CHECK"
               " (mallory.peek())"], "mallory.peek()"),
    "index": (["CREATE FUNCTION mallory.fixed(text) RETURNS text IMMUTABLE"
               " LANGUAGE sql AS 'SELECT $1'",
               "CREATE INDEX ON public._tidemark_watermark"
               " (mallory.fixed(target))"], "mallory.fixed("),
    "policy": (["CREATE POLICY p ON public._tidemark_watermark"
                " USING (mallory.peek())"], "policy p"),
    "rule": (["CREATE RULE r AS ON UPDATE TO public._tidemark_watermark"
              " DO ALSO SELECT mallory.peek()"], "rule r"),
    "domain": (["CREATE DOMAIN mallory.word AS text CHECK (mallory.peek())",
                "ALTER TABLE public._tidemark_watermark"
                " ALTER batch_id TYPE mallory.word"], "mallory.word"),
    "column": (["ALTER TABLE public._tidemark_watermark DROP target_rows"],
               "has no column target_rows"),
    "child": ([CHILD.format(table="public._tidemark_watermark")],
              "child table mallory.kid"),
    "reference": ([REFERENCE.format(table="public._tidemark_watermark",
                                    key="pipeline")],
                  "foreign key g_key_fkey from table mallory.g"),
    # The server computes the parent's key for each row that goes into a
    # partition.
    "parent": (["CREATE FUNCTION mallory.key(text) RETURNS text IMMUTABLE"
                " LANGUAGE plpgsql AS"
                " 'BEGIN PERFORM mallory.peek(); RETURN $1; END'",
                "CREATE TABLE mallory.parent"
                " (LIKE public._tidemark_watermark)"
                " PARTITION BY LIST (mallory.key(pipeline))",
                "ALTER TABLE mallory.parent ATTACH PARTITION"
                " public._tidemark_watermark FOR VALUES IN ('items')"],
               "is a partition of table mallory.parent"),
}


@pytest.fixture
def mallory(cluster):
    """A role that may make objects, and nothing else."""
    cluster.order("CREATE ROLE mallory LOGIN")
    yield "mallory"
    for (name,) in cluster.order("SELECT datname FROM pg_database"
                                 " WHERE datallowconn").fetchall():
        as_role(cluster, name, ADMIN, "DROP OWNED BY mallory CASCADE")
    cluster.order("DROP ROLE mallory")


def as_role(cluster, database, role, *statements):
    with contextlib.closing(cluster.connect(database, role)) as db:
        for sql in statements:
            db.execute(sql)


def let_in(end):
    """The attacker has a schema and may make tables beside ours; the canary is
    the administrator's."""
    as_role(end.cluster, end.database, ADMIN,
            "CREATE TABLE public.canary (who text)",
            f"GRANT INSERT ON public.canary TO {APP}",
            "GRANT CREATE, USAGE ON SCHEMA public TO mallory",
            "CREATE SCHEMA mallory AUTHORIZATION mallory",
            "GRANT USAGE ON SCHEMA mallory TO PUBLIC")
    as_role(end.cluster, end.database, "mallory",
            CANARY_SQL.format(schema="mallory"))


def canary(end):
    return end.cluster.admin(end.database).execute(
        "SELECT DISTINCT who FROM canary").fetchall()


def connect_as(tidemark, end, role):
    if role == ADMIN:
        tidemark.connect("warehouse", {**end.connection(), "url":
                         end.cluster.url(end.database, ADMIN, None)})
    return tidemark.write_config()


def refused(tidemark, named, *command, code="unsafe-marks"):
    """By each command; what `check` says is returned. `status` and `watermark
    show` say it and go on, as they do of a destination that is away."""
    assert named in tidemark("status").err
    assert named in tidemark("watermark", "show").err
    tidemark("verify")
    for args in command:
        done = tidemark(*args.split()).expect(EXIT_SCHEMA)
        assert named in done.err + done.out, done
    done = tidemark("check", "--json").expect(EXIT_SCHEMA)
    problem = next(each for each in done.pipeline()["problems"]
                   if each["code"] == code)
    assert named in problem["message"] and problem["fix"], problem
    return problem


COMMANDS = ("run", "run --full-refresh", "run --dry-run",
            "watermark reset items", "backfill items --from 2024-01-01")


@pytest.mark.parametrize("role", (ADMIN, APP))
@pytest.mark.parametrize("attack", ATTACKS)
def test_marks_that_somebody_made_beforehand(tidemark, source, make_database,
                                             mallory, attack, role):
    """Nothing of it is touched, whoever asks."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(destination)
    statements, named = ATTACKS[attack]
    as_role(destination.cluster, destination.database, mallory, *statements)
    connect_as(tidemark, destination, role)
    refused(tidemark, named, *COMMANDS)
    assert canary(destination) == []


@pytest.mark.parametrize("attack", ("function", "view", "row-policy"))
def test_marks_that_somebody_put_in_place_of_ours(
        tidemark, source, make_database, mallory, attack):
    """The next run expects its own row. The message that asks for all of it
    ends before."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(destination)
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0
    statements, named = ATTACKS[attack]
    marks = "public._tidemark_watermark"
    as_role(destination.cluster, destination.database, ADMIN,
            f"ALTER TABLE {marks} RENAME TO ours",
            "ALTER INDEX public._tidemark_watermark_pkey RENAME TO ours_pkey")
    as_role(destination.cluster, destination.database, mallory, *statements,
            f"INSERT INTO {marks} (pipeline) VALUES ('items')"
            if attack == "row-policy" else "SELECT 1")
    destination.cluster.admin(destination.database).execute(
        "DELETE FROM public.canary")
    assert named in tidemark("run").expect(EXIT_SCHEMA).err
    refused(tidemark, named, *COMMANDS)
    assert canary(destination) == []


@pytest.mark.parametrize("added", ADDED)
def test_something_added_to_our_marks(tidemark, source, make_database, mallory,
                                      added):
    """Also between two runs, by whoever was given the right to."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(destination)
    tidemark.run()
    # A message keeps the look's finding in this setting.
    as_role(destination.cluster, destination.database, ADMIN,
            f"ALTER DATABASE {destination.database}"
            " SET tidemark.fault = 'none'")
    statements, named = ADDED[added]
    as_role(destination.cluster, destination.database, ADMIN,
            f"GRANT ALL ON public._tidemark_watermark TO {mallory}",
            "DROP TABLE public.canary",
            "GRANT USAGE ON SCHEMA mallory TO PUBLIC",
            f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mallory TO PUBLIC",
            *statements,
            "CREATE TABLE public.canary (who text)",
            f"GRANT INSERT ON public.canary TO {APP}")
    refused(tidemark, named, *COMMANDS)
    assert canary(destination) == []


def test_marks_changed_between_two_batches(tidemark_failpoints, source,
                                           make_database, mallory):
    """The load looks again, under the lock that it writes under."""
    tidemark, destination = tidemark_failpoints, make_database("warehouse")
    let_in(destination)
    done = alter(tidemark, source, destination,
                 f"GRANT TRIGGER ON public._tidemark_watermark TO {mallory}",
                 "SET ROLE app", TRIGGER.format("mallory.take()"))
    assert "trigger helper" in done.expect(EXIT_SCHEMA).err, done
    assert canary(destination) == []


def test_child_of_the_marks_that_comes_in_mid_load(tidemark_failpoints, source,
                                                   make_database, mallory):
    """No lock that lets loads go on side by side keeps a child away: the mark
    is written in our table alone."""
    tidemark, destination = tidemark_failpoints, make_database("warehouse")
    let_in(destination)
    as_role(destination.cluster, destination.database, ADMIN,
            f"GRANT CREATE ON SCHEMA mallory TO {APP}")
    done = alter(tidemark, source, destination,
                 CHILD.format(table="public._tidemark_watermark"),
                 failpoint="before_watermark")
    assert "child table mallory.kid" in done.expect(EXIT_SCHEMA).err, done
    assert canary(destination) == []


def test_group_that_we_are_a_member_of(tidemark, source, make_database, cluster,
                                       mallory):
    """Its tables are ours: a pipeline may be moved from one role to another."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    give = (f"GRANT ALL ON SCHEMA public TO {mallory}",
            f"ALTER TABLE public._tidemark_watermark OWNER TO {mallory}",
            f"GRANT ALL ON public._tidemark_watermark TO {APP}")
    as_role(cluster, destination.database, ADMIN, *give)
    refused(tidemark, "belongs to role mallory", "run")
    cluster.order(f"GRANT {mallory} TO {APP}")
    tidemark.run()


def test_target_of_others(tidemark, source, make_database, mallory):
    """It was named by the user: `check` tells, and the run loads it."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(destination)
    tidemark.run()
    as_role(destination.cluster, destination.database, ADMIN,
            "ALTER TABLE public.items OWNER TO mallory",
            f"GRANT ALL ON public.items TO {APP}")
    problems = tidemark("check", "--json").expect(EXIT_OK).pipeline()["problems"]
    told = [each for each in problems if each["code"] == "target-of-others"]
    assert [each["severity"] for each in told] == ["warning"], problems
    assert "belongs to role mallory" in told[0]["message"]
    tidemark.run()


def test_forget_a_mark_that_others_reference(tidemark, source, make_database,
                                             mallory):
    """No cascade runs on from a mark that goes."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(destination)
    tidemark.run()
    as_role(destination.cluster, destination.database, ADMIN,
            "INSERT INTO public._tidemark_watermark (pipeline, watermark,"
            " target) SELECT 'old', watermark, target"
            " FROM public._tidemark_watermark",
            "GRANT REFERENCES, SELECT ON public._tidemark_watermark"
            f" TO {mallory}")
    as_role(destination.cluster, destination.database, mallory,
            REFERENCE.format(table="public._tidemark_watermark",
                             key="pipeline"))
    done = tidemark("watermark", "forget", "items", "old").expect(EXIT_SCHEMA)
    assert "foreign key g_key_fkey from table mallory.g" in done.err, done
    assert canary(destination) == []


def test_target_whose_rows_reach_others(tidemark, source, make_database,
                                        mallory):
    """By a foreign key or by inheritance; those of our own are let be."""
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(destination)
    tidemark.run()
    for schema, role in (("public", APP), ("mallory", mallory)):
        as_role(destination.cluster, destination.database, ADMIN,
                f"CREATE TABLE {schema}.orders (item bigint"
                " REFERENCES public.items ON DELETE CASCADE)",
                f"ALTER TABLE {schema}.orders OWNER TO {role}")
    as_role(destination.cluster, destination.database, ADMIN,
            "CREATE TABLE public.kid () INHERITS (public.items)",
            "CREATE TRIGGER helper BEFORE UPDATE ON public.kid FOR EACH ROW"
            " EXECUTE FUNCTION mallory.take()")
    told, = tidemark("check", "--json").expect(EXIT_OK).pipeline()["problems"]
    assert told["code"] == "target-of-others" and told["fix"], told
    assert ("has triggers that run mallory.take() of role mallory and is"
            " referenced by table mallory.orders of role mallory"
            ) in told["message"], told
    tidemark.run()


@pytest.mark.parametrize("what", ("raw", "view"))
def test_append_into_what_others_own(tidemark, source, make_database, mallory,
                                     what):
    destination = make_database("warehouse")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", "append")
    let_in(destination)
    tidemark.run()
    name = "items_raw" if what == "raw" else "items"
    as_role(destination.cluster, destination.database, ADMIN,
            f"ALTER TABLE public.{name} OWNER TO mallory",
            f"GRANT ALL ON public.{name} TO {APP}")
    tidemark("run").expect(EXIT_SCHEMA)
    done = tidemark("check", "--json").expect(EXIT_SCHEMA)
    assert f"unsafe-{what}" in [each["code"] for each in
                                done.pipeline()["problems"]], done


STATES = {
    "schema": (["CREATE SCHEMA tidemark",
                "GRANT ALL ON SCHEMA tidemark TO PUBLIC",
                "CREATE VIEW tidemark.tidemark_migrations AS SELECT"
                " 1::bigint AS number, ''::text AS name, ''::text AS checksum"
                " WHERE mallory.peek()",
                "GRANT ALL ON tidemark.tidemark_migrations TO PUBLIC"],
               "schema tidemark belongs to role mallory"),
    "catalog": (["CREATE SCHEMA tidemark",
                 "GRANT ALL ON SCHEMA tidemark TO PUBLIC",
                 "CREATE VIEW tidemark.pg_class AS SELECT * FROM"
                 " pg_catalog.pg_class WHERE mallory.peek()",
                 "GRANT ALL ON tidemark.pg_class TO PUBLIC"],
                "schema tidemark belongs to role mallory"),
}
STATE_ADDED = {
    "trigger": ("CREATE TRIGGER helper BEFORE INSERT OR UPDATE ON"
                " tidemark.{table} FOR EACH ROW EXECUTE FUNCTION"
                " mallory.take()", "trigger helper"),
    "create": ("GRANT CREATE ON SCHEMA tidemark TO mallory",
               "lets role mallory make objects"),
    "function": ("CREATE FUNCTION tidemark.max(text) RETURNS text LANGUAGE sql"
                 " AS 'SELECT mallory.peek()::text'", "has function"),
    "check": ("ALTER TABLE tidemark.{table} ADD CHECK (query_to_xml('SELECT"
              " mallory.peek()', true, false, '') IS NOT NULL) NOT VALID",
              "has constraint attempts_check"),
    "default": ("ALTER TABLE tidemark.{table} ALTER progress SET DEFAULT"
                " query_to_xml('SELECT mallory.peek()', true, false, '')"
                "::text::bigint", "computes column progress"),
    "child": (CHILD.format(table="tidemark.{table}"),
              "child table mallory.kid"),
    "reference": (REFERENCE.format(table="tidemark.{table}", key="attempt_id"),
                  "foreign key g_key_fkey from table mallory.g"),
}


def refused_state(tidemark, named, *commands):
    for args in commands:
        done = tidemark(*args.split())
        assert done.code == EXIT_SCHEMA and named in done.err + done.out, done
    done = tidemark("check", "--json").expect(EXIT_SCHEMA)
    problem = next(each for each in done.pipeline()["problems"]
                   if named in each["message"])
    assert problem["fix"], problem


@pytest.mark.parametrize("role", (ADMIN, APP))
@pytest.mark.parametrize("attack", STATES)
def test_state_that_somebody_made_beforehand(tidemark, source, make_database,
                                             mallory, attack, role):
    destination, state = make_database("warehouse"), make_database("state")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    let_in(state)
    as_role(state.cluster, state.database, ADMIN,
            f"GRANT CREATE ON DATABASE {state.database} TO {mallory}")
    statements, named = STATES[attack]
    as_role(state.cluster, state.database, mallory, *statements)
    tidemark.top["state"] = {**state.connection(), "url": state.cluster.url(
        state.database, role, None)}
    tidemark.write_config()
    refused_state(tidemark, named, "run", "status", "migrate", "runs")
    assert canary(state) == []


@pytest.mark.parametrize("added", STATE_ADDED)
def test_something_added_to_our_state(tidemark, source, make_database, mallory,
                                      added):
    destination, state = make_database("warehouse"), make_database("state")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.top["state"] = state.connection()
    tidemark.write_config()
    let_in(state)
    tidemark.run()
    sql, named = STATE_ADDED[added]
    as_role(state.cluster, state.database, ADMIN, sql.format(table="attempts"))
    refused_state(tidemark, named, "run", "status", "migrate", "runs")
    assert canary(state) == []


BIGQUERY_MARKS = {
    "view": ("CREATE VIEW _tidemark_watermark AS SELECT 'items' AS pipeline, "
             "'{}' AS watermark, '' AS batch_id, 0 AS fence, 0 AS rows_total, "
             "CURRENT_TIMESTAMP() AS updated_at, TRUE AS created_target, "
             "'items' AS target, 0 AS target_rows", "is a VIEW"),
    "columns": ("CREATE TABLE _tidemark_watermark (pipeline STRING, watermark "
                "INT64)", "has no column watermark of the type STRING"),
}


@pytest.mark.parametrize("made", BIGQUERY_MARKS)
def test_marks_of_bigquery_that_somebody_made(tidemark, source,
                                              make_destination, made):
    """An object that is no table of ours is not read, whatever it says."""
    destination = make_destination("bigquery")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    statement, named = BIGQUERY_MARKS[made]
    destination.execute(statement)
    refused(tidemark, named, *COMMANDS)
    assert destination.tables() == ["_tidemark_watermark"]


IDLE_REQUESTS = 11  # with the one that asks an emulator what it is


def test_a_look_at_the_marks_takes_no_longer(tidemark, source,
                                             make_destination):
    """The location is known from the tables that a run looks at anyway."""
    destination = make_destination("bigquery")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    tidemark.run()
    destination.front.log()
    tidemark.run()
    asked = destination.front.log()
    assert len(asked) <= IDLE_REQUESTS, asked
    marks = [line for line in asked if "/tables/_tidemark_watermark" in line]
    assert len(marks) == 1, asked
    assert not [line for line in asked
                if line.endswith("/datasets/" + destination.schema)], asked
