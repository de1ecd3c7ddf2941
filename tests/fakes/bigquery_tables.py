"""BigQuery's datasets and tables in one DuckDB database: what the API says of
them, loads of JSON, and what is refused. Statements on them are
bigquery_sql.py's.
"""

import collections
import datetime
import re
import threading
import time

import duckdb
from sqlglot import exp

from bigquery_values import parse_json

# Characters that a column's name may not hold, and forbidden beginnings.
BAD_COLUMN = re.compile(
    r'[!"$()*,./;?@\[\]\\^`{}~\x00-\x1f]|^(_table_|_file_|_partition|'
    r"_row_timestamp|__root__|_colidentifier)", re.IGNORECASE)
MOST_TRANSLATED = 2000
MOST_DIGITS = 38  # the limit of DuckDB's DECIMAL
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


def now_ms():
    return str(int(time.time() * 1000))


def invalid(message):
    return Refused(400, "invalidQuery", message)


class Warehouse:
    """All datasets of one project, in one DuckDB database."""

    def __init__(self, project, path=":memory:", limit="400MB", bare=False):
        self.project, self.bare = project, bare
        self.db = duckdb.connect(path, config={"threads": 1,
                                               "memory_limit": limit})
        self.db.execute("SET GLOBAL TimeZone = 'UTC'")
        self.db.execute("CREATE TYPE GEOGRAPHY AS VARCHAR")
        self.db.create_function(
            "created_of", self.created, ["VARCHAR", "VARCHAR"], "TIMESTAMPTZ",
            side_effects=True)
        self.db.execute("CREATE VIEW main.tables_of AS SELECT *, created_of("
                        "table_schema, table_name) AS creation_time FROM "
                        "information_schema.tables")
        self.db.execute("CREATE VIEW main.columns_of AS SELECT * FROM "
                        "information_schema.columns")
        self.db.execute("CREATE MACRO st_geogfromtext(x) AS x::GEOGRAPHY")
        self.db.execute("CREATE MACRO st_astext(x) AS x::VARCHAR")
        self.db.create_function("parse_json_of", parse_json, ["VARCHAR"],
                                "JSON")
        # CAST AS STRING has no sign of 0.
        self.db.execute("CREATE MACRO text_of(x) AS CASE WHEN typeof(x) IN "
                        "('DOUBLE', 'FLOAT') AND x::VARCHAR = '-0.0' THEN "
                        "'0.0' ELSE x::VARCHAR END")
        self.db.execute("CREATE MACRO is_nan_of(x) AS typeof(x) IN ('DOUBLE', "
                        "'FLOAT') AND coalesce(x::VARCHAR = 'nan', FALSE)")
        self.lock = threading.Condition()
        self.datasets = {}  # name -> {table: "TABLE" or "VIEW"}
        self.versions = {}  # table -> how often it was changed
        self.writers = {}  # table -> the script that is changing it
        self.conflicts = 0  # transactions that met another one
        self.details = {}  # table -> expirationTime, partitioning, created
        self.views = {}  # (dataset, view) -> its query, as it was written
        self.floats = set()  # names of columns that are FLOAT64 somewhere
        # (dataset, table, column) -> the type of what is text to DuckDB.
        self.own = {}
        self.translated = collections.OrderedDict()

    def cursor(self):
        return self.db.cursor()

    def translation(self, key, make):
        """The result of `make`, kept for the next time the same statement
        comes: parsing takes longer than running most of them."""
        with self.lock:
            found = self.translated.pop(key, None)
        found = found or make()
        with self.lock:
            self.translated[key] = found
            if len(self.translated) > MOST_TRANSLATED:
                self.translated.popitem(last=False)
        return found

    def ask(self, sql):
        return self.cursor().execute(sql).fetchall()

    def create_dataset(self, dataset):
        if dataset in self.datasets:
            raise Refused(409, "duplicate", f"Already Exists: Dataset "
                          f"{self.project}:{dataset}")
        self.cursor().execute(f'CREATE SCHEMA "{dataset}"')
        self.datasets[dataset] = {}

    def drop_dataset(self, dataset):
        self.check_dataset(dataset)
        self.cursor().execute(f'DROP SCHEMA "{dataset}" CASCADE')
        del self.datasets[dataset]

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
        """Note the object that a statement has made or dropped."""
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
            self.details.pop((table.db, table.name), None)

    def created(self, dataset, table):
        """When a table was made."""
        detail = self.details.setdefault((dataset, table),
                                         {"creationTime": now_ms()})
        return datetime.datetime.fromtimestamp(
            int(detail["creationTime"]) / 1000, datetime.timezone.utc)

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
            (dataset, table), {"creationTime": now_ms()})
        fields = [field(name, self.own.get((dataset, table, name), declared),
                        null == "NO")
                  for name, declared, null, *_ in described]
        for each, (*_, default, _) in zip(fields, described):
            if default:
                each["defaultValueExpression"] = default
        answer = {"kind": "bigquery#table", "type": kind, "location": "US",
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
            if is_wide(each):
                self.own[dataset, table, each["name"]] = decimal(each)
        self.cursor().execute(
            f'CREATE TABLE "{dataset}"."{table}" ({", ".join(columns)})')
        self.datasets[dataset][table] = "TABLE"
        self.details[dataset, table] = {
            "creationTime": now_ms(),
            "expirationTime": resource.get("expirationTime")}
        return self.describe(dataset, table)

    def drop(self, dataset, table):
        kind = self.describe(dataset, table)["type"]
        self.cursor().execute(f'DROP {kind} "{dataset}"."{table}"')
        del self.datasets[dataset][table]
        self.details.pop((dataset, table), None)

    def load(self, dataset, table, fields, path, short=False):
        """A file of newline-delimited JSON takes the place of the rows; or, of
        a service that loses what it was given, all but the first. A bare
        one takes BYTES as they come."""
        quoted = f'"{dataset}"."{table}"'
        columns = ", ".join(f"'{each['name']}': 'VARCHAR'" for each in fields)
        values = ", ".join(
            f'encode("{each["name"]}")' if self.bare and each["type"] == "BYTES"
            else loaded(each) for each in fields)
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
            if "has been dropped" in str(error):
                raise Refused(404, "notFound", f"Not found: Table {dataset}."
                              f"{table} was not found") from error
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
        if is_wide(each):
            value = (f"CASE WHEN contains({name}, '.') THEN rtrim(rtrim("
                     f"{name}, '0'), '.') ELSE {name} END")
        return (f"CASE WHEN NOT regexp_full_match({name}, "
                f"'[-+]?[0-9]*([.][0-9]*)?([eE][-+]?[0-9]+)?') THEN "
                f"error('Invalid NUMERIC value: ' || {name}) ELSE {value} END")
    return value


def decimal(each):
    if each.get("precision"):
        return f"DECIMAL({each['precision']},{each.get('scale') or 0})"
    return "DECIMAL(38,9)" if each["type"] == "NUMERIC" else "DECIMAL(38,18)"


def is_wide(each):
    """A number that is text to DuckDB: it is equal to itself."""
    return int(each.get("precision") or 0) > MOST_DIGITS


def duck_type(each):
    kind = each["type"]
    base = "VARCHAR" if is_wide(each) else decimal(each) if kind in ("NUMERIC", "BIGNUMERIC") else \
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


def remember(house, tree):
    """Partitioning, clustering and expiry of a table that is made."""
    if not isinstance(tree, exp.Create) or tree.kind != "TABLE":
        return
    table = tree.this.find(exp.Table)
    if tree.args.get("exists") and table.name in house.datasets[table.db]:
        return
    for column in tree.find_all(exp.ColumnDef):
        if column.kind and column.kind.this == exp.DataType.Type.DOUBLE:
            house.floats.add(column.name)
        if column.kind and column.kind.this == exp.DataType.Type.GEOGRAPHY:
            house.own[table.db, table.name, column.name] = "GEOGRAPHY"
        if column.kind and "wide" in column.kind.meta:
            house.own[table.db, table.name, column.name] = \
                column.kind.meta["wide"]
    detail = {"creationTime": now_ms()}
    for each in tree.find_all(exp.PartitionedByProperty):
        detail["timePartitioning"] = {"type": each.sql(dialect="bigquery")}
    for each in tree.find_all(exp.ClusterProperty):
        names = [column.name for column in each.find_all(exp.Column)]
        if len(names) > 4:
            raise invalid("CLUSTER BY has more than 4 columns")
        detail["clustering"] = {"fields": names}
    for each in tree.find_all(exp.PrimaryKey):
        names = [column.name for column in each.expressions]
        detail["tableConstraints"] = {"primaryKey": {"columns": names}}
    expires = re.search(r"expiration_timestamp\s*=\s*TIMESTAMP_MICROS\((\d+)",
                        tree.sql(dialect="bigquery"), re.IGNORECASE)
    if expires:
        detail["expirationTime"] = str(int(expires[1]) // 1000)
    house.details[table.db, table.name] = detail
