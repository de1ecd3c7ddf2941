"""Tables of many kinds, as a database has them that grew for years."""

WIDE = ", ".join(f"c{n} int" for n in range(400))
# Less than the 1,017 that MySQL has, and the 1,600 of PostgreSQL.
THOUSAND = ", ".join(f"d{n} int" for n in range(999))
POSTGRES = r"""
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
INSERT INTO other.wide_bag (c1, c399) VALUES (1, 2), (1, 2);
CREATE TABLE other.thousand (id int PRIMARY KEY, {thousand});
INSERT INTO other.thousand (id, d5, d998) VALUES (1, 2, 3), (2, NULL, 4);
CREATE TABLE animals (id serial PRIMARY KEY, name text);
INSERT INTO animals (name) VALUES ('cow'), ('owl');
CREATE TABLE dogs (breed text, PRIMARY KEY (id)) INHERITS (animals);
INSERT INTO dogs (name, breed) VALUES ('rex', 'pug');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s fine');
CREATE TABLE moods (id serial PRIMARY KEY, m mood NOT NULL);
INSERT INTO moods (m) VALUES ('sad'), ('it''s fine');
CREATE DOMAIN address AS text CHECK (VALUE ~ '@');
CREATE TABLE mails (at address PRIMARY KEY, n int);
INSERT INTO mails VALUES ('a@b', 1), ('c@d', NULL);
CREATE TABLE arrays (id int PRIMARY KEY, a int[], t text[]);
INSERT INTO arrays VALUES (1, '{1,NULL,3}', '{"a,b","NULL",NULL}'), (2, '{}', NULL);
CREATE TABLE booked (id int PRIMARY KEY, r daterange, i int4range);
INSERT INTO booked VALUES (1, '[2024-01-01,2024-02-01)', '(,5]'), (2, 'empty', NULL);
CREATE TABLE docs (id int PRIMARY KEY, j json, b jsonb, h text);
INSERT INTO docs VALUES (1, '{"b": 1, "a": 1.0}', '[{}, null, "\u00e4"]', ''), (2, NULL, 'null', NULL);
CREATE TABLE made (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED);
INSERT INTO made (a) VALUES (1), (NULL);
CREATE TABLE "select" ("from" int PRIMARY KEY, "order" text, "user" bool);
INSERT INTO "select" VALUES (1, 'by', true), (2, NULL, NULL);
CREATE TABLE "Größe 寸" ("Maß" numeric(6, 2) PRIMARY KEY, "🐘" text);
INSERT INTO "Größe 寸" VALUES (1.5, 'x'), (2, NULL);
CREATE TABLE "UPPER" ("ID" bigint PRIMARY KEY, "Value" text);
INSERT INTO "UPPER" VALUES (1, 'a'), (9007199254740993, 'b');
CREATE TABLE "two  words" ("a b" int PRIMARY KEY, " c " text);
INSERT INTO "two  words" VALUES (1, ' '), (2, '');
CREATE TABLE "per%cent.*" (id int PRIMARY KEY, "a.b" int, "$x" int);
INSERT INTO "per%cent.*" VALUES (1, 2, 3);
CREATE TABLE nets (id int PRIMARY KEY, i inet, c cidr, m macaddr);
INSERT INTO nets VALUES (1, '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03');
CREATE TABLE times (id int PRIMARY KEY, d date, t time, tz timetz, ts timestamp, tstz timestamptz, iv interval);
INSERT INTO times VALUES (1, '2024-02-29', '23:59:59.999999', '10:00+02', '1999-12-31 23:59:59', '2024-03-31 02:30+02', '1 mon -2 days 03:00:00'), (2, '0044-03-15', NULL, NULL, NULL, NULL, NULL);
CREATE TABLE bits (b bit(3), v bit varying);
INSERT INTO bits VALUES (B'101', B''), (NULL, B'1');
CREATE TYPE pair AS (x int, y text);
CREATE TABLE composed (id int PRIMARY KEY, p pair);
INSERT INTO composed VALUES (1, '(1,"a, b")'), (2, NULL);
CREATE TABLE places (id int PRIMARY KEY, p point, b box);
INSERT INTO places VALUES (1, '(1,2)', '(3,4),(1,2)');
CREATE TABLE prices (id int PRIMARY KEY, m money, n numeric);
INSERT INTO prices VALUES (1, 12.34, 1e30), (2, -5, 0.000000000000000001);
CREATE TABLE big_keys (id numeric(30) PRIMARY KEY, v text);
INSERT INTO big_keys VALUES (123456789012345678901234567890, 'x');
CREATE TABLE empty_keyed (id int PRIMARY KEY, v text);
CREATE TABLE nothing ();
CREATE TABLE words (id int PRIMARY KEY, v tsvector);
INSERT INTO words VALUES (1, to_tsvector('simple', 'a b b'));
CREATE TABLE system (o oid PRIMARY KEY, n name, c "char");
INSERT INTO system VALUES (4294967295, 'x', 'y');
CREATE TABLE deep (region text, day date, n int) PARTITION BY LIST (region);
CREATE TABLE deep_a PARTITION OF deep FOR VALUES IN ('a') PARTITION BY RANGE (day);
CREATE TABLE deep_a_old PARTITION OF deep_a FOR VALUES FROM (MINVALUE) TO ('2024-01-01');
CREATE TABLE deep_a_new PARTITION OF deep_a DEFAULT;
CREATE TABLE deep_rest PARTITION OF deep DEFAULT;
INSERT INTO deep SELECT chr(97 + n % 3), date '2023-12-30' + n, n FROM generate_series(1, 9) n;
CREATE MATERIALIZED VIEW stored_keyed AS SELECT code, title FROM kinds;
CREATE UNIQUE INDEX ON stored_keyed (code);
CREATE VIEW "A view ""of"" it" AS SELECT id AS "Id", total FROM orders WHERE id < 8;
CREATE TABLE secrets (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), b bytea, created_at timestamptz DEFAULT now());
INSERT INTO secrets (b) VALUES ('\x00ff'), (NULL)
"""
# By a superuser, who gives them to the user.
FOREIGN = """
CREATE EXTENSION postgres_fdw;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '127.0.0.1', port '{port}', dbname '{database}');
CREATE USER MAPPING FOR {user} SERVER far
  OPTIONS (user '{user}', password '{password}');
GRANT USAGE ON FOREIGN SERVER far TO {user}
"""
FAR = """
CREATE FOREIGN TABLE far_orders (id bigint, total numeric(12,2),
  updated_at timestamptz) SERVER far OPTIONS (table_name 'orders');
CREATE FOREIGN TABLE far_kinds (code text, title text) SERVER far
  OPTIONS (table_name 'kinds')
"""
MYSQL = r"""
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
INSERT INTO `odd ``name` VALUES (1, 'ä');
CREATE TABLE empty_keyed (id int PRIMARY KEY, v text);
CREATE TABLE `Groß` (`Id` bigint unsigned PRIMARY KEY, v text);
INSERT INTO `Groß` VALUES (18446744073709551615, '🐘');
CREATE TABLE `select` (`from` int PRIMARY KEY, `order` text);
INSERT INTO `select` VALUES (1, 'by');
CREATE TABLE typed (id int PRIMARY KEY, e enum('a', 'b''c'), s set('x', 'y'), j json, b bit(5), y year, t time(3), d datetime(6), f float, x double, u tinyint unsigned, bl blob);
INSERT INTO typed VALUES (1, 'b''c', 'x,y', '{"a": 1}', b'10101', 2024, '-100:00:00.5', '9999-12-31 23:59:59.999999', 1.5, 1e300, 255, x'00ff'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE made (id int AUTO_INCREMENT PRIMARY KEY, a int, b int AS (a * 2) STORED, c int AS (a + 1) VIRTUAL);
INSERT INTO made (a) VALUES (1), (NULL);
CREATE TABLE parted (id int, day date NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (year(day)) (PARTITION old VALUES LESS THAN (2024), PARTITION rest VALUES LESS THAN MAXVALUE);
INSERT INTO parted VALUES (1, '2023-05-05'), (2, '2024-05-05');
CREATE TABLE wide (id int PRIMARY KEY, {wide});
INSERT INTO wide (id, c7) VALUES (1, 2), (2, NULL);
CREATE TABLE pairs (a int NOT NULL, b int NOT NULL, v text, UNIQUE (b, a));
INSERT INTO pairs VALUES (1, 2, 'x'), (2, 1, NULL)
"""
