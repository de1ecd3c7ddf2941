"""BigQuery's SQL on DuckDB. The engine is DuckDB's and the dialect sqlglot's.
The rest of BigQuery is here: scripts, parameters, types, refusals.

A script runs on a connection of its own. Transactions are BigQuery's. When two
of them change one table, the second is cancelled. A script that ends without
COMMIT is rolled back.
"""

import copy
import logging
import re
import threading

import duckdb
import sqlglot
from sqlglot import exp

from bigquery_tables import (LOADED, MOST_DIGITS, Refused, check_column,
                             field, invalid, remember)

# sqlglot warns of parts that DuckDB has no use for, such as clustering.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
CONFLICT = ("Transaction is aborted due to concurrent update against table "
            "{}. Transaction ID: front")
BAD_TABLE = re.compile(r"[^\w\- ]")
# Names that each run makes up anew.
MADE_UP = re.compile(r"_tidemark_stage_\w+")
WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable)


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


def kind_of(text):
    """The statementType of a job."""
    statements = split_script(text)
    if len(statements) != 1:
        return "SCRIPT"
    word = re.match(r"\W*(\w+)", statements[0])[1].upper()
    return "SELECT" if word == "WITH" else word


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
    cast = re.search(r"Could not convert string '(.*)' to INT64", text)
    if cast:
        return invalid(f"Bad int64 value: {cast[1]}")
    said = re.search(r"executing the UDF: \w+: (.*)", text)
    return invalid(said[1] if said else text.split("\n")[0])


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
    return typed(kind, null)


def typed(kind, node):
    return exp.cast(node, exp.DataType.build(cast_type(kind),
                                             dialect="duckdb"))


def cast_type(kind):
    wide = {"NUMERIC": "DECIMAL(38,9)", "BIGNUMERIC": "DECIMAL(38,18)"}
    return wide.get(kind["type"]) or LOADED.get(kind["type"], "VARCHAR")


def asked(name):
    """A parameter of DuckDB's."""
    return exp.Parameter(this=exp.Var(this=name))


class Statement:
    """One as DuckDB has it: more than one, perhaps; and the names of the values
    that each of them asks for."""

    def __init__(self, tree, positional=0):
        self.tree, self.positional = tree, positional
        written = tree.find(exp.Table) if isinstance(tree, WRITES) else None
        self.written = written and f"{written.db}.{written.name}"
        self.parts = [(part.sql(dialect="duckdb"),
                       {each.name for each in part.find_all(exp.Parameter)})
                      for part in made_of_rows(tree)]

    def named(self, names):
        """With the names that were made up put in again."""
        def real(text):
            return text and re.sub(r"tm_made_up_(\d+)_",
                                   lambda match: names[int(match[1])], text)

        there = copy.copy(self)
        there.written = real(self.written)
        there.parts = [(real(sql), values) for sql, values in self.parts]
        return there


class Script:
    """One query job's statements, and what the last one gave."""

    def __init__(self, warehouse, query, dataset=None):
        self.warehouse, self.dataset = warehouse, dataset
        self.text = query["query"]
        # Name, or number, -> the type, and the expression for it.
        self.kinds, self.given, self.values = {}, {}, {}
        self.taken = 0  # parameters without a name so far
        for number, each in enumerate(query.get("queryParameters") or []):
            self.parameter(each.get("name", "").lower() or number, each)
        self.cursor = warehouse.cursor()
        self.variables = {"@@row_count": 0}
        self.in_transaction = False
        self.seen = self.changed = None
        self.cancelled = threading.Event()
        self.fails_at = None  # a word that a statement begins with
        self.fails_by = "jobInternalError"
        self.fails_with = "planted: internal error"
        self.columns, self.rows = [], None
        self.statements = 0

    def parameter(self, name, each):
        """Plain values are DuckDB's parameters, others are written out."""
        kind, value = each["parameterType"], each["parameterValue"]
        if kind["type"] in ("ARRAY", "STRUCT", "BYTES"):
            self.given[name] = literal(kind, value)
            self.kinds[name] = repr((kind, value))
        else:
            self.given[name] = typed(kind, asked(f"p_{name}"))
            self.kinds[name] = kind["type"]
            self.values[f"p_{name}"] = value.get("value")

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
            raise Refused(400, self.fails_by, self.fails_with)
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
        text = self.information(f"SELECT {text}")
        self.send(self.translate_any(text).parts[0])
        return self.cursor.fetchall()[0][0]

    def value_of(self, whose, name):
        """The value of a parameter, a script's variable, or a system variable."""
        if whose == "p":
            return self.values["p_" + name]
        return self.variables[("@@" if whose == "s" else "") + name]

    def send(self, part):
        sql, names = part
        values = {name: self.value_of(*name.split("_", 1)) for name in names}
        if values:
            self.cursor.execute(sql, values)
        else:
            self.cursor.execute(sql)

    # ---- statements of BigQuery as DuckDB has them

    def translate(self, text):
        key = (text, self.dataset, self.taken, repr(self.kinds),
               tuple(sorted(self.variables)), len(self.warehouse.floats))
        before = self.taken
        found = self.warehouse.translation(key, lambda: self.parse(text))
        self.taken = before + found.positional
        return found

    def translate_any(self, text):
        """The same for a statement that was seen with other names."""
        names = sorted(set(MADE_UP.findall(text)), key=len, reverse=True)
        if not names or re.match("CREATE|DROP|ALTER", text, re.IGNORECASE):
            return self.translate(text)
        for number, name in enumerate(names):
            text = text.replace(name, f"tm_made_up_{number}_")
        return self.translate(text).named(names)

    def parse(self, text):
        before = self.taken
        try:
            tree = sqlglot.parse_one(text, read="bigquery")
        except sqlglot.errors.SqlglotError as error:
            raise invalid(f"Syntax error: {error}") from error
        tree = tree.transform(self.node).transform(functions)
        tree = tree.transform(self.floating)
        return Statement(tree, self.taken - before)

    def node(self, node):
        if isinstance(node, exp.Table):
            return self.table(node)
        if isinstance(node, exp.Parameter) and \
                isinstance(node.this, exp.Parameter):
            return asked("s_" + node.this.name.lower())
        if isinstance(node, exp.Parameter):
            name = node.name.lower()
            if name not in self.given:
                raise invalid(f"Query parameter '{name}' not found")
            return self.given[name].copy()
        if isinstance(node, exp.Placeholder):
            if self.taken not in self.given:
                raise invalid("Too few query parameters")
            self.taken += 1
            return self.given[self.taken - 1].copy()
        if isinstance(node, exp.Column) and not node.table and \
                node.name.lower() in self.variables:
            return asked("v_" + node.name.lower())
        if isinstance(node, exp.DataType):
            return widened(node)
        return node

    def floating(self, node):
        """NaN equals nothing, and a text has no sign of 0; nobody may partition
        by them."""
        names = self.warehouse.floats
        if isinstance(node, exp.Cast) and node.this.name in names and \
                node.to.this == exp.DataType.Type.TEXT:
            return exp.Anonymous(this="text_of", expressions=[node.this])
        if isinstance(node, exp.Window) and any(
                isinstance(each, exp.Column) and each.name in names
                for each in node.args.get("partition_by") or []):
            raise invalid("Partitioning by expressions of type FLOAT64 is not "
                          "allowed")
        if isinstance(node, exp.EQ) and all(
                isinstance(each, exp.Column) and each.table and
                each.name in names for each in (node.left, node.right)):
            return exp.and_(node.copy(), exp.not_(exp.Anonymous(
                this="is_nan_of", expressions=[node.left.copy()])))
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

    def information(self, text):
        """INFORMATION_SCHEMA of a dataset, as it is now."""
        def view(match):
            dataset = (match[1] or self.dataset + ".")[:-1].strip("`")
            return (f"(SELECT * FROM main.{match[2].lower()}_of WHERE "
                    f"table_schema = '{dataset}')")

        return re.sub(r"(?:`[\w-]+`\.)?([`\w]+\.)?INFORMATION_SCHEMA\."
                      r"(TABLES|COLUMNS)\b", view, text)

    def execute(self, text):
        text = self.information(text)
        self.known_names = set(re.findall(r"\bWITH\s+(\w+)\s+AS\b", text,
                                          re.IGNORECASE))
        statement = self.translate_any(text)
        tree, name = statement.tree, statement.written
        if isinstance(tree, exp.Create):
            self.check_names(tree)
        view = re.match(r"CREATE (?:OR REPLACE )?VIEW .*? AS (.*)", text,
                        re.IGNORECASE | re.DOTALL)
        if view:
            table = tree.this.find(exp.Table)
            self.warehouse.views[table.db, table.name] = view[1]
        if name:
            self.take(name)
        try:
            self.run_one(tree, statement.parts)
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

    def run_one(self, tree, parts):
        remember(self.warehouse, tree)
        for part in parts:
            self.send(part)
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
        """Give a table to the transaction that changes it, and to no other."""
        house = self.warehouse
        with house.lock:
            if not self.in_transaction:
                while house.writers.get(table):
                    house.lock.wait(1)
                house.writers[table] = self
                return
            if house.writers.get(table, self) is not self or \
                    house.versions.get(table) != self.seen.get(table):
                house.conflicts += 1
                raise invalid(CONFLICT.format(f"{house.project}:{table}"))
            house.writers[table] = self
            self.changed.add(table)

    def give(self, table):
        with self.warehouse.lock:
            del self.warehouse.writers[table]
            self.count_change(table)
            self.warehouse.lock.notify_all()


def made_of_rows(tree):
    """CREATE TABLE (columns) AS SELECT is two statements to DuckDB; and a key,
    which nobody enforces, is none."""
    if not isinstance(tree, exp.Create) or tree.kind != "TABLE" or \
            not isinstance(tree.this, exp.Schema):
        return [tree]
    bare = tree.copy()
    for key in list(bare.find_all(exp.PrimaryKey)):
        key.pop()
    if tree.args.get("expression") is None:
        return [bare]
    bare.set("expression", None)
    return [bare, exp.Insert(this=tree.this.find(exp.Table).copy(),
                             expression=tree.expression.copy())]


def widened(node):
    """NUMERIC without digits has DuckDB's own idea of how many, and what has
    more than DuckDB knows is text."""
    if node.expressions and node.this in (exp.DataType.Type.VARCHAR,
                                          exp.DataType.Type.TEXT,
                                          exp.DataType.Type.VARBINARY):
        return exp.DataType(this=node.this)
    if node.this == exp.DataType.Type.BIGDECIMAL and node.expressions and \
            int(node.expressions[0].name) > MOST_DIGITS:
        digits = ",".join(each.name for each in node.expressions)
        text = exp.DataType(this=exp.DataType.Type.TEXT)
        text.meta["wide"] = f"DECIMAL({digits})"
        return text
    if node.expressions:
        return node
    if node.this == exp.DataType.Type.DECIMAL:
        return exp.DataType.build("DECIMAL(38,9)", dialect="duckdb")
    if node.this == exp.DataType.Type.BIGDECIMAL:
        return exp.DataType.build("DECIMAL(38,18)", dialect="duckdb")
    return node


def functions(node):
    """Mend nodes that sqlglot would translate wrongly."""
    if isinstance(node, exp.CurrentTimestamp):
        return exp.Anonymous(this="get_current_timestamp")
    if isinstance(node, exp.ParseJSON):
        return exp.Anonymous(this="parse_json_of", expressions=[node.this])
    # TO_JSON_STRING of NULL is a text.
    if isinstance(node, exp.JSONFormat):
        return exp.Coalesce(this=node.copy(),
                            expressions=[exp.Literal.string("null")])
    return node
