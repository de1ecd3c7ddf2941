"""BigQuery's SQL on DuckDB: the engine is DuckDB's, the dialect sqlglot's, and
what is BigQuery's own is here: scripts, parameters, types, what it refuses.

A script runs on a connection of its own. Transactions are BigQuery's: of two
that change one table the second is cancelled, and what a script has not
committed at its end is rolled back.
"""

import logging
import re
import threading
import time

import duckdb
import sqlglot
from sqlglot import exp

# What DuckDB has no use for, as clustering.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
CONFLICT = ("Transaction is aborted due to concurrent update against table "
            "{}. Transaction ID: front")
# What a name of a column may not hold, and how it may not begin.
BAD_COLUMN = re.compile(
    r'[!"$()*,./;?@\[\]\\^`{}~\x00-\x1f]|^(_table_|_file_|_partition|'
    r"_row_timestamp|__root__|_colidentifier)", re.IGNORECASE)
BAD_TABLE = re.compile(r"[^\w\- ]")
WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable)
# DuckDB's name -> BigQuery's, in the API.
TYPES = {"BIGINT": "INTEGER", "INTEGER": "INTEGER", "HUGEINT": "INTEGER",
         "DOUBLE": "FLOAT", "FLOAT": "FLOAT", "BOOLEAN": "BOOLEAN",
         "VARCHAR": "STRING", "BLOB": "BYTES", "DATE": "DATE", "TIME": "TIME",
         "TIMESTAMP": "DATETIME", "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
         "JSON": "JSON", "GEOGRAPHY": "GEOGRAPHY", "INTERVAL": "INTERVAL"}
LOADED = {"INTEGER": "BIGINT", "INT64": "BIGINT", "FLOAT": "DOUBLE",
          "FLOAT64": "DOUBLE", "BOOLEAN": "BOOLEAN", "BOOL": "BOOLEAN",
          "STRING": "VARCHAR", "DATE": "DATE", "TIME": "TIME",
          "DATETIME": "TIMESTAMP", "TIMESTAMP": "TIMESTAMPTZ"}


class Refused(Exception):
    """An answer of BigQuery's: HTTP status, reason, text."""

    def __init__(self, status, reason, message):
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message

    def proto(self):
        return {"reason": self.reason, "message": self.message,
                "location": "query"}


def invalid(message):
    return Refused(400, "invalidQuery", message)


def split_script(text):
    """Statements, at the semicolons that are outside of quotes."""
    pattern = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`"""
                         r"""|--[^\n]*|/\*.*?\*/|;""", re.DOTALL)
    start, found = 0, []
    for match in pattern.finditer(text):
        if match.group() == ";":
            found.append(text[start:match.start()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return [statement for statement in found if statement]


def refused_by(error, project):
    """DuckDB's words as BigQuery would put it."""
    text = str(error)
    missing = re.search(r"Table with name (\S+) does not exist", text)
    if missing:
        return Refused(404, "notFound", f"Not found: Table {project}:"
                       f"{missing[1]} was not found in location US")
    if isinstance(error, duckdb.TransactionException):
        return invalid(CONFLICT.format("of the script"))
    if "Conflict on" in text or "write-write conflict" in text:
        return invalid(CONFLICT.format("of the script"))
    if "MERGE INTO" in text and "twice" in text:
        return invalid("UPDATE/MERGE must match at most one source row for "
                       "each target row")
    return invalid(text.split("\n")[0])


class Warehouse:
    """All datasets of one project, in one DuckDB database."""

    def __init__(self, project, path=":memory:", limit="400MB"):
        self.project = project
        self.db = duckdb.connect(path, config={"threads": 2,
                                               "memory_limit": limit})
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute("CREATE TYPE GEOGRAPHY AS VARCHAR")
        self.db.execute("CREATE VIEW main.tables_of AS SELECT * FROM "
                        "information_schema.tables")
        self.db.execute("CREATE MACRO st_geogfromtext(x) AS x::GEOGRAPHY")
        self.db.execute("CREATE MACRO st_astext(x) AS x::VARCHAR")
        self.lock = threading.Condition()
        self.datasets = {}  # name -> {table: "TABLE" or "VIEW"}
        self.versions = {}  # table -> how often it was changed
        self.writers = {}  # table -> the script that is changing it
        self.details = {}  # table -> expirationTime, partitioning, created
        self.views = {}  # (dataset, view) -> its query, as it was written
        self.geography = set()  # (dataset, table, column): text to DuckDB

    def cursor(self):
        cursor = self.db.cursor()
        cursor.execute("SET TimeZone = 'UTC'")
        return cursor

    def ask(self, sql):
        return self.cursor().execute(sql).fetchall()

    def check_dataset(self, dataset):
        if dataset not in self.datasets:
            raise Refused(404, "notFound", f"Not found: Dataset {self.project}:"
                          f"{dataset} was not found in location US")

    def expire(self):
        now = time.time() * 1000
        for (dataset, table), detail in list(self.details.items()):
            if int(detail.get("expirationTime") or 0) and \
                    now > int(detail["expirationTime"]):
                self.cursor().execute(
                    f'DROP TABLE IF EXISTS "{dataset}"."{table}"')
                self.datasets[dataset].pop(table, None)
                del self.details[dataset, table]

    def tables(self, dataset):
        """(name, kind) of each."""
        self.check_dataset(dataset)
        self.expire()
        return sorted(self.datasets[dataset].items())

    def note(self, tree):
        """What a statement has made or dropped."""
        kind, made = tree.args.get("kind"), isinstance(tree, exp.Create)
        if kind not in ("SCHEMA", "TABLE", "VIEW"):
            return
        table = tree.find(exp.Table)
        if kind == "SCHEMA":
            if made:
                self.datasets[table.db or table.name] = {}
            else:
                self.datasets.pop(table.db or table.name, None)
        elif made:
            self.datasets[table.db][table.name] = kind
        else:
            self.datasets[table.db].pop(table.name, None)

    def describe(self, dataset, table):
        """The `Table` of the API."""
        self.check_dataset(dataset)
        self.expire()
        kind = self.datasets[dataset].get(table)
        if not kind:
            raise Refused(404, "notFound", f"Not found: Table {self.project}:"
                          f"{dataset}.{table}")
        quoted = f'"{dataset}"."{table}"'
        described = self.ask(f"DESCRIBE {quoted}")
        detail = self.details.setdefault(
            (dataset, table), {"creationTime": str(int(time.time() * 1000))})
        fields = [field(name, "GEOGRAPHY" if (dataset, table, name) in
                        self.geography else declared, null == "NO")
                  for name, declared, null, *_ in described]
        answer = {"kind": "bigquery#table", "type": kind,
                  "tableReference": {"projectId": self.project,
                                     "datasetId": dataset, "tableId": table},
                  "schema": {"fields": fields}, **detail}
        if kind == "TABLE":
            rows = self.ask(f"SELECT count(*) FROM {quoted}")[0][0]
            answer.update(numRows=str(rows), numBytes=str(rows * 64))
        else:
            answer["view"] = {"query": self.views[dataset, table]}
        return answer

    def create(self, dataset, resource):
        """tables.insert: of plain columns."""
        self.check_dataset(dataset)
        table = resource["tableReference"]["tableId"]
        if table in self.datasets[dataset]:
            raise Refused(409, "duplicate", f"Already Exists: Table "
                          f"{self.project}:{dataset}.{table}")
        columns = []
        for each in resource["schema"]["fields"]:
            check_column(each["name"])
            required = " NOT NULL" if each.get("mode") == "REQUIRED" else ""
            columns.append(f'"{each["name"]}" {duck_type(each)}{required}')
        self.cursor().execute(
            f'CREATE TABLE "{dataset}"."{table}" ({", ".join(columns)})')
        self.datasets[dataset][table] = "TABLE"
        self.details[dataset, table] = {
            "creationTime": str(int(time.time() * 1000)),
            "expirationTime": resource.get("expirationTime")}
        return self.describe(dataset, table)

    def drop(self, dataset, table):
        kind = self.describe(dataset, table)["type"]
        self.cursor().execute(f'DROP {kind} "{dataset}"."{table}"')
        del self.datasets[dataset][table]
        self.details.pop((dataset, table), None)

    def load(self, dataset, table, fields, path, short=False):
        """A file of newline-delimited JSON takes the place of the rows; or, of
        a service that loses what it was given, all but the first."""
        quoted = f'"{dataset}"."{table}"'
        columns = ", ".join(f"'{each['name']}': 'VARCHAR'" for each in fields)
        values = ", ".join(loaded(each) for each in fields)
        cursor = self.cursor()
        with open(path, "rb") as lines:
            longest = max((len(line) for line in lines), default=0)
        cursor.execute("BEGIN")
        try:
            cursor.execute(f"DELETE FROM {quoted}")
            rows = cursor.execute(
                f"INSERT INTO {quoted} SELECT {values} FROM read_json(?, "
                f"format = 'newline_delimited', columns = {{{columns}}}, "
                f"maximum_object_size = {max(longest + 1, 1 << 20)})",
                [path]).fetchall()[0][0]
            if short:
                cursor.execute(f"DELETE FROM {quoted} WHERE r = 0")
            cursor.execute("COMMIT")
            return rows
        except duckdb.Error as error:
            cursor.execute("ROLLBACK")
            raise Refused(400, "invalid", "Error while reading data, error "
                          "message: JSON parsing error in row starting at "
                          f"position 0: {str(error).splitlines()[0]}"
                          ) from error


def check_column(name):
    if BAD_COLUMN.search(name) or not 0 < len(name) <= 300:
        raise Refused(400, "invalid", f"Invalid field name \"{name}\". Fields "
                      "must contain the allowed characters, and be at most 300"
                      " characters long.")


def loaded(each):
    """SQL of a field of the file, which is all text."""
    name, kind = f'"{each["name"]}"', each["type"]
    if kind == "BYTES":
        return f"from_base64({name})"
    value = f"CAST({name} AS {duck_type(each)})"
    if kind in ("DATE", "DATETIME", "TIMESTAMP"):
        return (f"CASE WHEN year({value}) NOT BETWEEN 1 AND 9999 THEN "
                f"error('Could not convert value to {kind}') ELSE {value} END")
    if kind == "TIME":
        return (f"CASE WHEN starts_with({name}, '24') THEN "
                f"error('Could not convert value to TIME') ELSE {value} END")
    if kind in ("NUMERIC", "BIGNUMERIC"):
        return (f"CASE WHEN {name} IN ('NaN', 'Infinity', '-Infinity') THEN "
                f"error('Invalid NUMERIC value: ' || {name}) ELSE {value} END")
    return value


def decimal(each):
    if each.get("precision"):
        return f"DECIMAL({each['precision']},{each.get('scale') or 0})"
    return "DECIMAL(38,9)" if each["type"] == "NUMERIC" else "DECIMAL(38,18)"


def duck_type(each):
    kind = each["type"]
    base = decimal(each) if kind in ("NUMERIC", "BIGNUMERIC") else \
        LOADED.get(kind, kind if kind != "BYTES" else "BLOB")
    return base + ("[]" if each.get("mode") == "REPEATED" else "")


def field(name, declared, required=False):
    """DuckDB's type as a field of the API's schema."""
    if declared.endswith("[]"):
        return {**field(name, declared[:-2]), "mode": "REPEATED"}
    answer = {"name": name, "mode": "REQUIRED" if required else "NULLABLE"}
    number = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared)
    if declared.startswith("STRUCT("):
        inner = re.findall(r'"?(\w+)"? ([A-Z0-9(,)\[\] ]+?)(?:, |\)$)',
                           declared[7:])
        return {**answer, "type": "RECORD",
                "fields": [field(*each) for each in inner]}
    if not number:
        return {**answer, "type": TYPES.get(declared, "STRING")}
    precision, scale = map(int, number.groups())
    if (precision, scale) == (38, 18):
        return {**answer, "type": "BIGNUMERIC"}
    wide = scale > 9 or precision - scale > 29
    answer["type"] = "BIGNUMERIC" if wide else "NUMERIC"
    if (precision, scale) != (38, 9):
        answer.update(precision=str(precision), scale=str(scale))
    return answer


def literal(kind, value):
    """A parameter's value: a typed literal of DuckDB's."""
    if kind["type"] == "ARRAY":
        inner = kind["arrayType"]
        each = [literal(inner, item) for item in value.get("arrayValues", [])]
        return exp.cast(exp.Array(expressions=each),
                        exp.DataType.build(cast_type(inner) + "[]",
                                           dialect="duckdb"))
    if kind["type"] == "STRUCT":
        types = {each["name"]: each["type"] for each in kind["structTypes"]}
        return exp.Struct(expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name, quoted=True),
                           expression=literal(types[name], each))
            for name, each in value["structValues"].items()])
    text = value.get("value")
    null = exp.Null() if text is None else exp.Literal.string(text)
    if kind["type"] == "BYTES":
        return exp.Anonymous(this="from_base64", expressions=[null])
    return exp.cast(null, exp.DataType.build(cast_type(kind),
                                             dialect="duckdb"))


def cast_type(kind):
    wide = {"NUMERIC": "DECIMAL(38,9)", "BIGNUMERIC": "DECIMAL(38,18)"}
    return wide.get(kind["type"]) or LOADED.get(kind["type"], "VARCHAR")


class Script:
    """One query job's statements, and what the last one gave."""

    def __init__(self, warehouse, query, dataset=None):
        self.warehouse, self.dataset = warehouse, dataset
        self.text = query["query"]
        self.named, self.positional = {}, []
        for each in query.get("queryParameters") or []:
            value = literal(each["parameterType"], each["parameterValue"])
            if each.get("name"):
                self.named[each["name"].lower()] = value
            else:
                self.positional.append(value)
        self.cursor = warehouse.cursor()
        self.variables = {"@@row_count": 0}
        self.in_transaction = False
        self.seen = self.changed = None
        self.cancelled = threading.Event()
        self.fails_at = None  # a word that a statement begins with
        self.columns, self.rows = [], None
        self.statements = 0

    def run(self):
        try:
            for statement in split_script(self.text):
                if self.cancelled.is_set():
                    raise Refused(400, "stopped", "Job execution was "
                                  "cancelled: User requested cancellation")
                self.statement(statement)
                self.statements += 1
        except duckdb.Error as error:
            raise refused_by(error, self.warehouse.project) from error
        finally:
            if self.in_transaction:
                self.end("ROLLBACK")
            self.cursor.close()

    def cancel(self):
        self.cancelled.set()
        self.cursor.interrupt()

    def statement(self, text):
        if self.fails_at and text.startswith(self.fails_at):
            raise Refused(400, "jobInternalError", "planted: internal error")
        word = re.match(r"\w+", text)[0].upper() if text[0] != "(" else ""
        special = {"DECLARE": self.declare, "SET": self.set_variable,
                   "ASSERT": self.check, "BEGIN": self.begin,
                   "COMMIT": self.commit, "ROLLBACK": self.roll_back}
        if word in special:
            special[word](text)
        else:
            self.execute(text)

    def declare(self, text):
        if self.statements and "DECLARE" not in self.text.split(";")[
                self.statements - 1].upper():
            raise invalid("Variable declarations are allowed only at the start"
                          " of a block or script")
        match = re.fullmatch(r"DECLARE\s+([\w\s,]+?)\s+(INT64|BOOL|STRING)"
                             r"(?:\s+DEFAULT\s+(.*))?", text,
                             re.IGNORECASE | re.DOTALL)
        value = self.value(match[3]) if match[3] else None
        for name in match[1].split(","):
            self.variables[name.strip().lower()] = value

    def set_variable(self, text):
        name, value = re.fullmatch(r"SET\s+(\w+)\s*=\s*(.*)", text,
                                   re.IGNORECASE | re.DOTALL).groups()
        if name.lower() not in self.variables:
            raise invalid(f"Undeclared variable: {name}")
        self.variables[name.lower()] = self.value(value)

    def check(self, text):
        what, said = re.fullmatch(r"ASSERT\s+(.*?)\s+AS\s+'([^']*)'", text,
                                  re.IGNORECASE | re.DOTALL).groups()
        if not self.value(what):
            raise invalid(f"Assertion failed: {said}")

    def begin(self, _):
        if self.in_transaction:
            raise invalid("Transaction is already in progress")
        with self.warehouse.lock:
            self.cursor.execute("BEGIN")
            self.in_transaction = True
            self.seen = dict(self.warehouse.versions)
            self.changed = set()
        # DuckDB's snapshot is that of the first look.
        self.cursor.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchall()

    def commit(self, _):
        if not self.in_transaction:
            raise invalid("COMMIT TRANSACTION without a transaction")
        self.end("COMMIT")

    def roll_back(self, _):
        self.end("ROLLBACK")

    def end(self, how):
        self.in_transaction = False
        try:
            self.cursor.execute(how)
        finally:
            with self.warehouse.lock:
                for table in self.changed:
                    self.warehouse.writers.pop(table, None)
                    if how == "COMMIT":
                        self.count_change(table)
                self.warehouse.lock.notify_all()

    def count_change(self, table):
        versions = self.warehouse.versions
        versions[table] = versions.get(table, 0) + 1

    def value(self, text):
        sql = self.translate(f"SELECT {text}").sql(dialect="duckdb")
        return self.cursor.execute(sql).fetchall()[0][0]

    # ---- statements of BigQuery as DuckDB has them

    def translate(self, text):
        try:
            tree = sqlglot.parse_one(text, read="bigquery")
        except sqlglot.errors.SqlglotError as error:
            raise invalid(f"Syntax error: {error}") from error
        tree = tree.transform(self.node)
        return tree.transform(functions)

    def node(self, node):
        if isinstance(node, exp.Table):
            return self.table(node)
        if isinstance(node, exp.Parameter) and \
                isinstance(node.this, exp.Parameter):
            return exp.convert(self.variables["@@" + node.this.name.lower()])
        if isinstance(node, exp.Parameter):
            name = node.name.lower()
            if name not in self.named:
                raise invalid(f"Query parameter '{name}' not found")
            return self.named[name].copy()
        if isinstance(node, exp.Placeholder):
            if not self.positional:
                raise invalid("Too few query parameters")
            return self.positional.pop(0)
        if isinstance(node, exp.Column) and not node.table and \
                node.name.lower() in self.variables:
            return exp.convert(self.variables[node.name.lower()])
        if isinstance(node, exp.DataType):
            return widened(node)
        return node

    def table(self, node):
        if isinstance(node.this, exp.Func):
            return node
        node = node.copy()
        if node.catalog and node.catalog != self.warehouse.project:
            raise Refused(403, "accessDenied", f"Access Denied: Project "
                          f"{node.catalog}: User does not have permission")
        node.set("catalog", None)
        if not node.db and self.dataset and node.name not in self.known_names:
            node.set("db", exp.to_identifier(self.dataset, quoted=True))
        return node

    known_names = ()

    def information(self, match):
        """INFORMATION_SCHEMA.TABLES of a dataset."""
        dataset = (match[1] or self.dataset + ".")[:-1].strip("`")
        return (f"(SELECT * FROM main.tables_of WHERE table_schema = "
                f"'{dataset}')")

    def execute(self, text):
        text = re.sub(r"([`\w]+\.)?INFORMATION_SCHEMA\.TABLES",
                      self.information, text)
        self.known_names = set(re.findall(r"\bWITH\s+(\w+)\s+AS\b", text,
                                          re.IGNORECASE))
        tree = self.translate(text)
        written = tree.find(exp.Table) if isinstance(tree, WRITES) else None
        if isinstance(tree, exp.Create):
            self.check_names(tree)
        view = re.match(r"CREATE (?:OR REPLACE )?VIEW .*? AS (.*)", text,
                        re.IGNORECASE | re.DOTALL)
        if view:
            table = tree.this.find(exp.Table)
            self.warehouse.views[table.db, table.name] = view[1]
        name = written and f"{written.db}.{written.name}"
        if name:
            self.take(name)
        try:
            self.run_one(tree)
        finally:
            if name and not self.in_transaction:
                self.give(name)

    def check_names(self, tree):
        table = tree.this.find(exp.Table)
        if table is not None and tree.kind in ("TABLE", "VIEW"):
            self.warehouse.check_dataset(table.db)
            if BAD_TABLE.search(table.name):
                raise Refused(400, "invalid", f"Invalid table ID "
                              f"\"{table.name}\".")
        for column in tree.find_all(exp.ColumnDef):
            check_column(column.name)

    def run_one(self, tree):
        remember(self.warehouse, tree)
        for statement in made_of_rows(tree):
            self.cursor.execute(statement.sql(dialect="duckdb"))
        if isinstance(tree, (exp.Create, exp.Drop)):
            self.warehouse.note(tree)
        described = self.cursor.description or []
        fetched = self.cursor.fetchall()
        if isinstance(tree, WRITES):
            self.variables["@@row_count"] = fetched[0][0] if fetched else 0
        elif isinstance(tree, exp.Query):
            types = self.cursor_types(described)
            self.columns = [field(each[0], kind) for each, kind in
                            zip(described, types)]
            self.rows = fetched

    @staticmethod
    def cursor_types(described):
        return [str(each[1]) for each in described]

    def take(self, table):
        """Who changes a table has it for itself."""
        house = self.warehouse
        with house.lock:
            if not self.in_transaction:
                while house.writers.get(table):
                    house.lock.wait(1)
                house.writers[table] = self
                return
            if house.writers.get(table, self) is not self or \
                    house.versions.get(table) != self.seen.get(table):
                raise invalid(CONFLICT.format(f"{house.project}:{table}"))
            house.writers[table] = self
            self.changed.add(table)

    def give(self, table):
        with self.warehouse.lock:
            del self.warehouse.writers[table]
            self.count_change(table)
            self.warehouse.lock.notify_all()


def made_of_rows(tree):
    """CREATE TABLE (columns) AS SELECT is two statements to DuckDB."""
    if not isinstance(tree, exp.Create) or tree.kind != "TABLE" or \
            tree.args.get("expression") is None or \
            not isinstance(tree.this, exp.Schema):
        return [tree]
    bare = tree.copy()
    bare.set("expression", None)
    return [bare, exp.Insert(this=tree.this.find(exp.Table).copy(),
                             expression=tree.expression.copy())]


def widened(node):
    """NUMERIC without digits has DuckDB's own idea of how many."""
    if node.expressions and node.this in (exp.DataType.Type.VARCHAR,
                                          exp.DataType.Type.TEXT,
                                          exp.DataType.Type.VARBINARY):
        return exp.DataType(this=node.this)
    if node.expressions:
        return node
    if node.this == exp.DataType.Type.DECIMAL:
        return exp.DataType.build("DECIMAL(38,9)", dialect="duckdb")
    if node.this == exp.DataType.Type.BIGDECIMAL:
        return exp.DataType.build("DECIMAL(38,18)", dialect="duckdb")
    return node


def functions(node):
    """What sqlglot puts otherwise than it is meant."""
    if isinstance(node, exp.CurrentTimestamp):
        return exp.Anonymous(this="get_current_timestamp")
    return node


def remember(house, tree):
    """Partitioning, clustering and expiry of a table that is made."""
    if not isinstance(tree, exp.Create) or tree.kind != "TABLE":
        return
    table = tree.this.find(exp.Table)
    for column in tree.find_all(exp.ColumnDef):
        if column.kind and column.kind.this == exp.DataType.Type.GEOGRAPHY:
            house.geography.add((table.db, table.name, column.name))
    detail = {"creationTime": str(int(time.time() * 1000))}
    for each in tree.find_all(exp.PartitionedByProperty):
        detail["timePartitioning"] = {"type": each.sql(dialect="bigquery")}
    for each in tree.find_all(exp.ClusterProperty):
        names = [column.name for column in each.find_all(exp.Column)]
        if len(names) > 4:
            raise invalid("CLUSTER BY has more than 4 columns")
        detail["clustering"] = {"fields": names}
    expires = re.search(r"expiration_timestamp\s*=\s*TIMESTAMP_MICROS\((\d+)",
                        tree.sql(dialect="bigquery"), re.IGNORECASE)
    if expires:
        detail["expirationTime"] = str(int(expires[1]) // 1000)
    house.details[table.db, table.name] = detail
