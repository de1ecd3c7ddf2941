"""A new user's first hour: `init` for a database of many kinds of tables, then
`check`, `run` and `verify`. Nothing is left out without a word."""

import os

import pytest

from bench import EXIT_OK

WIDE = ", ".join(f"c{n} int" for n in range(400))
POSTGRES = """
CREATE TABLE orders (id bigserial PRIMARY KEY, total numeric(12,2),
  updated_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON orders (updated_at);
INSERT INTO orders (total) SELECT n / 7.0 FROM generate_series(1, 500) n;
CREATE TABLE kinds (code text PRIMARY KEY, title text);
INSERT INTO kinds VALUES ('a', 'one'), ('b', NULL);
CREATE TABLE plain (t text, n int);
INSERT INTO plain VALUES ('x', 1), ('x', 1), (NULL, NULL), ('NaN', 2);
CREATE TABLE floats (id int PRIMARY KEY, f float8, g float4, t text);
INSERT INTO floats VALUES (1, 'NaN', 'NaN', 'NaN'), (2, 'Infinity',
  '-Infinity', ''), (3, '-0', 0, 'null');
CREATE TABLE coded (n int, code text NOT NULL UNIQUE);
INSERT INTO coded VALUES (1, 'c'), (2, 'd');
CREATE TABLE pairs (a int NOT NULL, b int NOT NULL, v text, UNIQUE (b, a));
INSERT INTO pairs SELECT n / 3, n % 3, n FROM generate_series(1, 9) n;
CREATE TABLE loose (a int UNIQUE, v text);
INSERT INTO loose VALUES (NULL, 'x'), (NULL, 'x'), (1, 'y');
CREATE TABLE parts (id int, day date NOT NULL, PRIMARY KEY (id, day))
  PARTITION BY RANGE (day);
CREATE TABLE parts_old PARTITION OF parts FOR VALUES FROM (MINVALUE)
  TO ('2024-01-01');
CREATE TABLE parts_new PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT n, date '2023-12-25' + n FROM generate_series(1, 20) n;
CREATE TABLE bagged (id int) PARTITION BY HASH (id);
CREATE TABLE bagged_0 PARTITION OF bagged FOR VALUES WITH
  (MODULUS 2, REMAINDER 0);
CREATE TABLE bagged_1 PARTITION OF bagged FOR VALUES WITH
  (MODULUS 2, REMAINDER 1);
INSERT INTO bagged SELECT n % 4 FROM generate_series(1, 40) n;
CREATE UNLOGGED TABLE unlogged (id uuid PRIMARY KEY, j jsonb);
INSERT INTO unlogged VALUES (gen_random_uuid(), '{"a": [1, null]}');
CREATE TABLE "Odd ""Name.1" ("Key, of it" int PRIMARY KEY, "ünï" text);
INSERT INTO "Odd ""Name.1" VALUES (1, 'ä');
CREATE TABLE empty (a int, b text);
CREATE TABLE self (LIKE kinds);
INSERT INTO self SELECT * FROM kinds;
CREATE VIEW per_kind AS SELECT k.title, count(o.id) AS n FROM kinds k
  LEFT JOIN orders o ON o.id < 3 GROUP BY k.title;
CREATE VIEW recent AS SELECT id, updated_at FROM orders WHERE id > 490;
CREATE VIEW joined AS SELECT o.id, k.code FROM orders o, kinds k
  WHERE o.id < 4;
CREATE MATERIALIZED VIEW stored AS SELECT total FROM orders WHERE id < 6;
CREATE SCHEMA other;
CREATE TABLE other.kinds (code text, at timestamp);
INSERT INTO other.kinds VALUES ('z', '2024-01-01 10:00'), ('z', NULL);
CREATE TABLE other.wide (id int PRIMARY KEY, {wide});
INSERT INTO other.wide (id, c7) VALUES (1, 2), (2, NULL);
CREATE TABLE other.wide_bag ({wide});
INSERT INTO other.wide_bag (c1, c399) VALUES (1, 2), (1, 2)
"""
MYSQL = """
CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, total decimal(12,2),
  updated_at timestamp(6) NOT NULL DEFAULT now(6));
INSERT INTO orders (total) VALUES (1.5), (2), (NULL);
CREATE TABLE lookup (id int PRIMARY KEY, title varchar(20));
INSERT INTO lookup VALUES (1, 'a'), (2, 'b');
CREATE TABLE kinds (code varchar(10) PRIMARY KEY, title text);
INSERT INTO kinds VALUES ('a', 'one'), ('b', NULL);
CREATE TABLE plain (t varchar(10), n int);
INSERT INTO plain VALUES ('x', 1), ('x', 1), (NULL, NULL);
CREATE TABLE coded (n int, code varchar(10) NOT NULL UNIQUE);
INSERT INTO coded VALUES (1, 'c'), (2, 'd');
CREATE TABLE pre (v varchar(30) NOT NULL, UNIQUE (v(3)));
INSERT INTO pre VALUES ('abcdef'), ('xyz');
CREATE VIEW joined AS SELECT o.id, k.code FROM orders o, kinds k;
CREATE VIEW counted AS SELECT count(*) AS n FROM orders;
CREATE TABLE `odd ``name` (`key of` int PRIMARY KEY, v text);
INSERT INTO `odd ``name` VALUES (1, 'ä')
"""
SETUP = {"postgres": POSTGRES.replace("{wide}", WIDE), "mysql": MYSQL}
TABLES = {"postgres": 20, "mysql": 9}


@pytest.mark.parametrize("start, engine", (
    ("postgres", "duckdb"), ("postgres", "postgres"), ("mysql", "duckdb")))
def test_first_hour(tidemark, make_source, make_destination, start, engine):
    source, destination = make_source(start), make_destination(engine)
    source.execute(*SETUP[start].split(";\n"))
    password = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    urls = []
    for end, name in ((source, "SOURCE"), (destination, "DESTINATION")):
        at = end.connection()
        tidemark.env[f"{name}_PASSWORD"] = password
        urls.append(at["url"].replace("@", ":${%s_PASSWORD}@" % name, 1)
                    if isinstance(at, dict) else at)
    made = tidemark("init", *urls).expect(EXIT_OK)
    with open(os.path.join(tidemark.dir, "tidemark.yaml"),
              encoding="utf-8") as config:
        text = config.read()
    assert "is left out" not in text, text + made.err
    assert text.count("destination: { connection") == TABLES[start], text
    checked = tidemark("check", "--json").expect(EXIT_OK).json()["pipelines"]
    assert len(checked) == TABLES[start]
    for told in tidemark.run().json()["pipelines"]:
        assert told["outcome"] == "caught_up", told
    tidemark("verify").expect(EXIT_OK)
    source.execute("INSERT INTO plain VALUES ('x', 1)",
                   "UPDATE kinds SET title = 'two' WHERE code = 'b'")
    tidemark.run()
    tidemark("verify").expect(EXIT_OK)
