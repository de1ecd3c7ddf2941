"""Contents of rows stay out of what Tidemark prints and keeps about a run;
names, keys and reasons do not. `log.row_values: true` shows them."""

import json

import pytest

import workload
from bench import EXIT_DATA, sync_items
from bigquery_items import end, front, items
from canon import quote_table
from refused_items import letters

SECRET = "zoe o'quill, 077-5551234"
# Words by which a server's error is told to be of another class.
LURE = ", Syntax error, aborted due to concurrent update, Memory limit"

POSTGRES_TRIGGER = """
CREATE FUNCTION {schema}.no_secrets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'not %', NEW.name {more};
END $$;
CREATE TRIGGER no_secrets BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW WHEN (NEW.name LIKE 'zoe%') EXECUTE FUNCTION
    {schema}.no_secrets()
"""
MYSQL_TRIGGER = """
CREATE TRIGGER no_secrets BEFORE UPDATE ON {table} FOR EACH ROW
    IF NEW.name LIKE 'zoe%' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = NEW.name;
    END IF
"""
CHECK = ("ALTER TABLE {table} ADD CONSTRAINT no_secrets CHECK"
         " (name NOT LIKE 'zoe%')")
UNIQUE = "CREATE UNIQUE INDEX no_twins ON {table} (name)"
UNIQUE_START = "CREATE UNIQUE INDEX no_twins ON {table} (name(50))"

# engine, how it refuses rows 1 and 2, what is still told
REFUSALS = [
    ("postgres", CHECK, ["no_secrets"]),
    ("postgres", UNIQUE, ["no_twins", "Key (name)=(...) already exists."]),
    ("postgres", POSTGRES_TRIGGER.replace("{more}", ""),
     ["function or trigger", "no_secrets()"]),
    ("postgres", POSTGRES_TRIGGER.replace(
        "{more}", "USING ERRCODE = 'check_violation'"), ["no_secrets()"]),
    ("mariadb", CHECK, ["no_secrets"]),
    ("mariadb", UNIQUE_START, ["no_twins"]),
    ("mariadb", MYSQL_TRIGGER, ["trigger or routine"]),
    ("mysql", CHECK, ["no_secrets"]),
    ("mysql", UNIQUE_START, ["no_twins"]),
    ("mysql", MYSQL_TRIGGER, ["trigger or routine"]),
    ("sqlite", UNIQUE, ["items.name"]),
    ("duckdb", UNIQUE, ["constraint"]),
    ("clickhouse", CHECK, ["no_secrets"]),
]
IDS = [f"{engine}-{sql.split()[1].lower()}-{n}"
       for n, (engine, sql, _) in enumerate(REFUSALS)]


@pytest.fixture
def refusing(tidemark, make_source, make_destination):
    """Two rows that were loaded, and are then given a name that the target
    does not take, or not twice."""
    def make(engine, sql, secret=SECRET, more=(), **settings):
        source, destination = make_source("postgres"), make_destination(engine)
        workload.create_items(source, rows=2)
        sync_items(tidemark, source, destination, "timestamp", **settings)
        tidemark.run()
        table = "items_raw" if engine == "clickhouse" else "items"
        destination.execute(sql.replace("{schema}", destination.schema).replace(
            "{table}", quote_table(f"{destination.schema}.{table}")
            if engine in ("postgres", "duckdb") else table), *more)
        name = secret.replace("'", "''")
        source.execute(f"UPDATE items SET name = '{name}', updated_at = now()")
        workload.settle(source)
    return make


def told(tidemark, *outcomes):
    """All that was printed, and what is kept about the runs. The directory's
    name is left out: by chance it has one of the words."""
    kept = [tidemark(*command, "--json").out for command in (
        ("runs", "list"), ("status",), ("dead-letters", "list"))]
    text = "".join([each.out + each.err for each in outcomes] + kept)
    return text.replace(str(tidemark.dir), "")


def hidden(text):
    return not any(piece in text for piece in ("zoe", "quill", "5551234"))


@pytest.mark.parametrize("engine, sql, names", REFUSALS, ids=IDS)
def test_refused_rows(tidemark, refusing, engine, sql, names):
    refusing(engine, sql)
    done = tidemark("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done, tidemark("run", "-v"))
    assert hidden(text), text
    message = done.pipeline()["error"]["message"]
    for name in names:
        assert name in message, message
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    # SQLite's texts have no values, nor have those of a CHECK in MySQL.
    assert ("zoe" in shown.err + shown.out) == (
        engine not in ("sqlite", "mariadb", "mysql") or sql is not CHECK
        and engine != "sqlite"), shown


# A trigger that makes SQL of the row; what the server then says of a name.
MADE = {
    "relation": "EXECUTE 'SELECT 1 FROM ' || quote_ident(NEW.name)",
    "column": "EXECUTE 'SELECT ' || quote_ident(NEW.name)",
    "qualified": "EXECUTE 'SELECT zoe.quill FROM pg_class'",
    "syntax": "EXECUTE 'SELECT FROM ' || NEW.name",
    "cast": "PERFORM NEW.name::regtype",
    "schema": "EXECUTE format('CREATE TABLE %I.t ()', NEW.name)",
    "assigned": "NEW.name := nextval(quote_ident(NEW.name)::regclass)",
}


@pytest.mark.parametrize("made", MADE)
def test_names_made_of_values(tidemark, refusing, made):
    """The message names the failing trigger's function, and no other name."""
    refusing("postgres", POSTGRES_TRIGGER.replace(
        "RAISE EXCEPTION 'not %', NEW.name {more};",
        MADE[made] + "; RETURN NEW;"))
    done = tidemark("run", "--json")
    text = told(tidemark, done, tidemark("run", "-v"))
    assert done.code != 0 and hidden(text), text
    message = done.pipeline()["error"]["message"]
    assert "a function or trigger failed" in message, message
    assert "no_secrets()" in message and "log.row_values" in message, message
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json")
    assert not hidden(shown.err + shown.out), shown


# PostgreSQL's use of a name, the name, and the text that is still told.
POSTGRES_STUMBLES = {
    "xml": ("name::xml IS DOCUMENT", "<a>zoe quill", "invalid XML"),
    "regclass": ("name::regclass", "zoe_quill", "relation ... does not"),
    "regoperator": ("name::regoper", "zoe_quill", "operator does not exist"),
    "role": ("name::regrole", "zoe quill", "invalid name syntax"),
    "setting": ("current_setting(name)", "zoe_quill",
                "unrecognized configuration parameter"),
    "privilege": ("has_table_privilege(name, 'SELECT')", "zoe_quill",
                  "does not exist"),
    "sequence": ("nextval(name)", "zoe_quill", "does not exist"),
    "tsquery": ("name::tsquery", "zoe quill", "syntax error in tsquery"),
    "to_tsquery": ("to_tsquery(name)", "zoe quill", "syntax error in tsquery"),
    "encoding": ("encode('x', name)", "zoe_quill", "unrecognized encoding"),
    "date": ("make_date(substr(name, 5)::integer, 99, 1)", "zoe 5551234",
             "date field value out of range"),
}


@pytest.mark.parametrize("what", POSTGRES_STUMBLES)
def test_postgres_stumbles_on_a_value(tidemark, refusing, what):
    expression, secret, said = POSTGRES_STUMBLES[what]
    refusing("postgres", "ALTER TABLE {table} ADD CONSTRAINT no_secrets CHECK"
             " (CASE WHEN position('zoe' IN name) > 0 THEN ("
             + expression + ") IS NOT NULL ELSE true END)", secret)
    done = tidemark("run", "--json")
    text = told(tidemark, done, tidemark("run", "-v"))
    assert done.code != 0 and hidden(text), text
    message = done.pipeline()["error"]["message"]
    assert said in message, message
    assert ("log.row_values" in message) == (what != "role"), message
    if what in ("role", "tsquery", "to_tsquery"):
        done.expect(EXIT_DATA)
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json")
    assert what == "role" or not hidden(shown.err + shown.out), shown


def test_mysql_names_a_latitude(tidemark, refusing):
    """A number without quotes, of a column that the server generates."""
    refusing("mysql", "ALTER TABLE {table} ADD place point AS"
             " (ST_SRID(POINT(0, IF(name LIKE 'zoe%',"
             " substr(name, 5), 1)), 4326)) STORED", "zoe 5551234.125")
    done = tidemark("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done, tidemark("run", "-v"))
    assert hidden(text) and "latitude ..., which is out of" in text, text


# A trigger that signals an error number of the server's own, and its text.
SIGNALS = {
    "column": ("42S22", 1054, "'Unknown column ''', NEW.name, ''' in ''NEW'''"),
    "table": ("42000", 1142, "'denied to user ''', NEW.name, ''''"),
    "duplicate": ("23000", 1062, "'see column ''', NEW.name, ''''"),
    "number": ("22003", 3617, "'Latitude ', substr(NEW.name, 5)"),
}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_signal_of_the_servers_own_number(tidemark, refusing, engine, signal):
    state, number, words = SIGNALS[signal]
    refusing(engine, f"""CREATE TRIGGER no_secrets BEFORE UPDATE ON {{table}}
        FOR EACH ROW BEGIN
            DECLARE said text DEFAULT concat({words});
            IF NEW.name LIKE 'zoe%' THEN SIGNAL SQLSTATE '{state}'
                SET MESSAGE_TEXT = said, MYSQL_ERRNO = {number};
            END IF;
        END""", "zoe 5551234")
    done = tidemark("run", "--json")
    text = told(tidemark, done, tidemark("run", "-v"))
    assert done.code != 0 and hidden(text), text
    assert "log.row_values" in text and str(number) in text, text
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json")
    assert not hidden(shown.err + shown.out), shown


# A function of a view's owner says this of a row, under a number of the
# server's.
REPEATED = {
    "resignal": "DECLARE r int; DECLARE EXIT HANDLER FOR SQLEXCEPTION"
                " RESIGNAL SET MESSAGE_TEXT = x; SET r = (SELECT 1 UNION"
                " SELECT 2);",
    "signal": "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1049,"
              " MESSAGE_TEXT = x;",
    "worded": "SET x = concat('Unknown database ''', x, '''');"
              " SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1049,"
              " MESSAGE_TEXT = x;",
    "given": "SET x = concat('Duplicate entry ''1'' for key ''', x, '''');"
             " SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062,"
             " MESSAGE_TEXT = x;",
    "unlisted": "SIGNAL SQLSTATE '72000' SET MYSQL_ERRNO = 3200,"
                " MESSAGE_TEXT = x;",
}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("body", REPEATED.values(), ids=REPEATED)
def test_function_of_a_view_says_a_value(tidemark, make_source, engine, body):
    """The server's words are shown, never those of a routine under a number
    of the server's."""
    source = make_source(engine)
    source.execute(
        "CREATE TABLE people (id bigint PRIMARY KEY, name varchar(100))",
        "INSERT INTO people VALUES (1, 'zoe5551234')",
        "CREATE FUNCTION said(x varchar(100)) RETURNS varchar(100) DETERMINISTIC"
        f" READS SQL DATA BEGIN {body} RETURN x; END",
        "CREATE VIEW told AS SELECT id, said(name) AS name FROM people")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "told", key=["id"], retry={"attempts": 1},
        source={"connection": "source", "table": f"{source.schema}.told"},
        destination={"connection": "warehouse", "table": "told"},
        watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("run", "--json")
    text = told(tidemark, done, tidemark("run", "-v"))
    assert done.code != 0 and hidden(text), text
    assert "log.row_values" in text, text
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json")
    assert not hidden(shown.err + shown.out), shown


# DuckDB's use of a name at a source, and the text that is still told.
DUCKDB_STUMBLES = [
    ("strptime(name, '%Y')", "Could not parse string"),
    ("regexp_matches('x', name)", "Invalid Input Error"),
    ("error('no ' || name)", "Invalid Input Error"),
    ("error('Cannot ship to ' || name)", "Invalid Input Error"),
    ("error('Could not parse string ' || name)", "Could not parse string"),
    ("make_date(substr(name, 5, 7)::integer, 99, 1)", "Error"),
    (r"('\x' || name)::blob", "Conversion Error"),
]


@pytest.mark.parametrize("checked", [False, True], ids=["source", "check"])
@pytest.mark.parametrize("expression, said", DUCKDB_STUMBLES,
                         ids=["strptime", "regexp", "error", "begins",
                              "begins-so", "date", "blob"])
def test_duckdb_stumbles_on_a_value(tidemark, make_destination, expression,
                                    said, checked):
    ends = [make_destination("duckdb"), make_destination("duckdb")]
    ends[0].execute("CREATE TABLE people (id bigint, name text)",
                    "INSERT INTO people VALUES (1, 'zoe 5551234 [quill')")
    check = f", CHECK (({expression}) IS NOT NULL)" if checked else ""
    ends[1].execute("CREATE TABLE people (id bigint PRIMARY KEY, name text,"
                    f" n text{check})")
    for name, end in zip(("source", "warehouse"), ends):
        tidemark.connect(name, end.connection())
    tidemark.pipeline(
        "people", key=["id"],
        source={"connection": "source", "table": f"{ends[0].schema}.people",
                "expressions": {"n": "NULL::text" if checked
                                else f"({expression})::text"}},
        destination={"connection": "warehouse",
                     "table": f"{ends[1].schema}.people"},
        watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done, tidemark("run", "-v"))
    assert hidden(text) and "log.row_values" in text, text
    assert "xzo" not in text, text
    said = "constraint" if checked else said
    assert said in done.pipeline()["error"]["message"], done
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    assert not hidden(shown.err + shown.out), shown


# An expression of an SQLite trigger over a name, and the part still told.
SQLITE_STUMBLES = {
    "json": ("json_extract('{}', NEW.name)", "JSON path"),
    "column": ("(SELECT 1 FROM words5 WHERE words5 MATCH"
               " substr(NEW.name, 1, 3) || ':x')", "no such column"),
    "rank": ("(SELECT 1 FROM words5 WHERE words5 MATCH 'x'"
             " AND rank MATCH NEW.name)", "rank function"),
    "match": ("(SELECT 1 FROM words4 WHERE words4 MATCH NEW.name || '\"')",
              "MATCH expression"),
}


@pytest.mark.parametrize("expression, said", SQLITE_STUMBLES.values(),
                         ids=SQLITE_STUMBLES)
def test_function_of_sqlite_that_stumbles(tidemark, refusing, expression,
                                          said):
    """The code of its error is that of a name that is not there."""
    refusing("sqlite", "CREATE TRIGGER no_secrets BEFORE UPDATE ON {table}"
             f" WHEN {expression} IS NULL BEGIN SELECT 1; END",
             more=("CREATE VIRTUAL TABLE words5 USING fts5(word)",
                   "CREATE VIRTUAL TABLE words4 USING fts4(word)"))
    done = tidemark("run", "--json")
    text = told(tidemark, done, tidemark("run", "-v"))
    assert done.code != 0 and hidden(text), text
    assert said in text and "log.row_values" in text, text
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json")
    assert "zoe" in shown.err + shown.out, shown


@pytest.mark.parametrize("engine, sql", [
    ("postgres", UNIQUE), ("mariadb", UNIQUE_START), ("duckdb", UNIQUE)])
def test_letters_tell_of_them_in_their_row_alone(tidemark, refusing, engine,
                                                 sql):
    refusing(engine, sql, on_bad_row="dead_letter")
    done = tidemark("run", "--json")
    found = letters(tidemark)
    assert found and hidden(told(tidemark, done)), done
    shown, = letters(tidemark, "show", found[0]["id"])
    assert shown["row"]["name"] == SECRET
    assert hidden(json.dumps(shown["error"])), shown


@pytest.mark.parametrize("engine, kind, expression", [
    ("postgres", "text", "name::integer"),
    ("postgres", "text", "xpath_exists('/a', ('<a>' || left(name, 9))::xml)"),
    ("postgres", "text", "to_tsquery(name || ' x')::text"),
    ("duckdb", "text", "CAST(name AS INTEGER)"),
    ("clickhouse", "String", "toInt32(name)"),
    ("bigquery", "STRING", "CAST(name AS INT64)")])
@pytest.mark.parametrize("secret", [SECRET, SECRET + LURE],
                         ids=["plain", "lure"])
def test_source_that_stumbles_on_a_value(tidemark, make_destination, engine,
                                         kind, expression, secret):
    source = make_destination(engine)
    name = secret.replace("'", r"\'" if engine == "bigquery" else "''")
    more = " ENGINE = MergeTree ORDER BY id" if engine == "clickhouse" else ""
    source.execute(f"CREATE TABLE people (id bigint, name {kind}){more}",
                   f"INSERT INTO people VALUES (1, '{name}')")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "people", key=["id"],
        source={"connection": "source", "table": f"{source.schema}.people",
                "expressions": {"n": expression}},
        destination={"connection": "warehouse", "table": "people"},
        watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done)
    assert hidden(text) and "log.row_values" in text, text
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    assert "zoe" in shown.err + shown.out, shown


def test_number_that_names_nothing(tidemark, make_source):
    """The error's class is that of a misspelt name."""
    source = make_source("postgres")
    source.execute("CREATE TABLE people (id bigint, n bigint)",
                   "INSERT INTO people VALUES (1, 5551234)")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "people", key=["id"],
        source={"connection": "source", "table": "public.people",
                "expressions": {"v": "lo_get(n::oid)::text"}},
        destination={"connection": "warehouse", "table": "people"},
        watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("run", "--json")
    text = told(tidemark, done)
    assert done.code != 0 and hidden(text), text
    assert "large object ... does not exist" in text, text


# An expression of ClickHouse's over a name, and the part still told.
CLICKHOUSE_STUMBLES = [
    ("toInt32(name)", "Cannot parse string ..."),
    ("toDate(name)", "Cannot parse date here: ... (CANNOT_PARSE_DATE)"),
    ("toIPv4(name)", "Cannot parse IPv4 ... (CANNOT_PARSE_IPV4)"),
    ("toUUID(name)", "(CANNOT_PARSE_UUID)"),
    ("CAST(name, 'JSON')", "Cannot parse JSON object here: ..."),
    ("match('x', '(' || name)", "cannot compile re2: ..."),
    ("replaceRegexpAll('x', '(' || name, 'y')", "re2 pattern: ..."),
    ("formatQuery(name)", "Syntax error: ... (SYNTAX_ERROR)"),
]


@pytest.mark.parametrize("before", [
    "", "Code: 241. DB::Exception: ", "Code: 241 ", "constraint "],
    ids=["plain", "exception", "code", "constraint"])
@pytest.mark.parametrize("expression, said", CLICKHOUSE_STUMBLES)
def test_clickhouse_stumbles_on_a_value(tidemark, make_destination, expression,
                                        said, before):
    """Whatever the value is like: words of an exception as well."""
    source = make_destination("clickhouse")
    source.execute("CREATE TABLE people (id bigint, name String)"
                   " ENGINE = MergeTree ORDER BY id",
                   f"INSERT INTO people VALUES (1, '{before}zoe quill 5551234"
                   " 5551234')")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "people", key=["id"], retry={"attempts": 1},
        source={"connection": "source", "table": f"{source.schema}.people",
                "expressions": {"n": f"toString({expression})"}},
        destination={"connection": "warehouse", "table": "people"},
        watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("run", "--json")
    text = told(tidemark, done)
    assert done.code != 0 and hidden(text), text
    assert said in text and "log.row_values" in text, text


# How BigQuery puts it; and what is still told.
BIGQUERY_SAYS = [
    ("POST /upload", "Error while reading data, error message: JSON parsing "
     "error in row starting at position 0: Could not parse '{}' as INT64 for "
     "field c1 (position 1) starting at location 0", ["column name"]),
    ("POST /upload", "Error while reading data, error message: JSON parsing "
     "error in row starting at position 0: Couldn't convert value to date. "
     "Field: c1; Value: {}", ["column name", "convert value to date"]),
    ("POST .*/jobs", "Query error: Bad int64 value: {} at [9:1]",
     ["Bad int64 value"]),
    ("POST .*/jobs", 'Query error: Could not cast literal "{}" to type DATE '
     "at [9:1]", ["type DATE"]),
    ("POST .*/jobs", "Query error: Invalid NUMERIC value: {} at [9:1]",
     ["Invalid NUMERIC value"]),
    ("POST .*/jobs", "Query error: Invalid input to PARSE_JSON: syntax error "
     "while parsing value - invalid literal; last read: '{}' at [9:1]",
     ["PARSE_JSON"]),
    ("POST .*/jobs", "Query error: ST_GeogFromText failed: Invalid WKT: {} "
     "at [9:1]", ["ST_GeogFromText failed"]),
    ("POST .*/jobs", 'Query error: Failed to parse input string "{}" at [9:1]',
     ["Failed to parse input string"]),
    ("POST .*/jobs", "Query error: Cannot parse regular expression: missing "
     "): ({} at [9:1]", ["Cannot parse regular expression"]),
    ("POST .*/jobs", "Query error: Invalid time zone: {} at [9:1]",
     ["Invalid time zone"]),
    ("POST .*/jobs", "Query error: Invalid date: {} at [9:1]",
     ["Invalid date"]),
    ("POST .*/jobs", "Query error: Invalid hexadecimal string: {} at [9:1]",
     ["Invalid hexadecimal string"]),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("secret", [SECRET, SECRET + LURE],
                         ids=["plain", "lure"])
@pytest.mark.parametrize("request_line, said, names", BIGQUERY_SAYS,
                         ids=range(len(BIGQUERY_SAYS)))
def test_bigquery_says_a_value(tidemark, items, end, front, request_line, said,
                               names, secret):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    workload.change_items(items, "id = 1")
    workload.settle(items)
    front.faults({
        "match": request_line, "times": 99, "status": 400,
        "kind": "status" if "upload" in request_line else "statement",
        "reason": "invalidQuery", "message": said.format(secret),
        "within": "MERGE", "statement": "MERGE"})
    done = tidemark("run", "--json").expect(EXIT_DATA)
    text = told(tidemark, done)
    assert hidden(text) and "log.row_values" in text, text
    for name in names:
        assert name in done.pipeline()["error"]["message"], done
    tidemark.top["log"] = {"row_values": True}
    shown = tidemark.write_config()("run", "--json").expect(EXIT_DATA)
    assert "zoe" in shown.err + shown.out, shown


def test_copy_has_a_flag(tidemark, make_source, make_destination):
    """It reads no config that could say log.row_values."""
    source, destination = make_source("sqlite"), make_destination("postgres")
    workload.create_items(source, rows=1)
    source.execute("UPDATE items SET name = 'Ann of Kiel'")
    destination.execute("CREATE TABLE items (id bigint PRIMARY KEY, name text "
                        "CHECK (name <> 'Ann of Kiel'))")
    url = destination.url().replace("@", ":${TIDEMARK_TEST_PASSWORD}@")
    said = [tidemark("copy", source.url(), url, "--table", "main.items", "--to",
                     "public.items", "--watermark", "timestamp:updated_at",
                     *flag).err for flag in ((), ("--row-values",))]
    assert "Ann" not in said[0] and "values are left out" in said[0], said[0]
    assert "Ann of Kiel" in said[1], said[1]
