-- A small shop: what ./demo and docker-compose.yml sync. Load it with psql
-- into an empty database as the role that owns it.
--   psql -v customers=20000 -v orders=100000 -f examples/shop.sql
\set ON_ERROR_STOP on
\if :{?customers} \else \set customers 20000 \endif
\if :{?orders} \else \set orders 100000 \endif
BEGIN;

-- No mark column of its own: synced by xmin.
CREATE TABLE customers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE,
    country char(2) NOT NULL,
    preferences jsonb NOT NULL DEFAULT '{}'
);

-- Changed all the time: synced by timestamp.
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers,
    status text NOT NULL DEFAULT 'new'
        CHECK (status IN ('new', 'paid', 'shipped', 'returned')),
    total numeric(12,2) NOT NULL DEFAULT 0,
    placed_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON orders (updated_at, id);

-- Written once and never changed: synced by sequence.
CREATE TABLE order_lines (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL REFERENCES orders,
    product text NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    price numeric(10,2) NOT NULL
);

INSERT INTO customers (name, email, country, preferences)
SELECT (ARRAY['Ada', 'Björn', 'Chloé', 'Dmitri', 'Eiko', 'Fátima'])[1 + n % 6]
           || ' ' || (ARRAY['Smith', 'Ørsted', 'Nguyễn', 'García', '李'])[1 + n % 5],
       'customer' || n || '@shop.example',
       (ARRAY['DE', 'FR', 'IT', 'JP', 'US', 'BR'])[1 + n * 7 % 6],
       jsonb_build_object('newsletter', n % 3 = 0, 'size', 36 + n % 12)
FROM generate_series(1, :customers) n;

INSERT INTO orders (customer_id, status, placed_at, updated_at)
SELECT 1 + n * 31 % :customers,
       (ARRAY['paid', 'shipped', 'shipped', 'returned'])[1 + n % 4],
       stamp, stamp + n % 72 * interval '1 hour'
FROM generate_series(1, :orders) n,
     LATERAL (SELECT now() - interval '1 year'
                     + n * (interval '350 days' / :orders)) placed(stamp);

INSERT INTO order_lines (order_id, product, quantity, price)
SELECT n, 'product ' || (n * 13 + line * 7) % 500, 1 + (n + line) % 4,
       ((n * 37 + line * 101) % 9900 + 100) / 100.0
FROM generate_series(1, :orders) n, generate_series(1, 3) line;

UPDATE orders SET total = lines.total
FROM (SELECT order_id, sum(quantity * price) AS total
      FROM order_lines GROUP BY order_id) lines
WHERE lines.order_id = orders.id;

-- One customer buys, others pay, get their parcel, or send it back.
CREATE PROCEDURE shop_tick() LANGUAGE plpgsql AS $$
DECLARE
    bought bigint;
    buyer bigint := (SELECT 1 + floor(random() * max(id))::bigint
                     FROM customers);
    newest bigint := (SELECT max(id) FROM orders);
BEGIN
    INSERT INTO orders (customer_id) VALUES (buyer) RETURNING id INTO bought;
    INSERT INTO order_lines (order_id, product, quantity, price)
    SELECT bought, 'product ' || floor(random() * 500), 1 + n % 3,
           round((1 + random() * 99)::numeric, 2)
    FROM generate_series(1, 1 + floor(random() * 4)::int) n;
    UPDATE orders SET total = (SELECT sum(quantity * price) FROM order_lines
                               WHERE order_id = bought)
    WHERE id = bought;
    UPDATE orders SET updated_at = now(),
           status = CASE status WHEN 'new' THEN 'paid' WHEN 'paid'
                    THEN 'shipped' ELSE 'returned' END
    WHERE id IN (SELECT floor(random() * newest)::bigint
                 FROM generate_series(1, 20));
    UPDATE customers SET preferences = preferences
           || jsonb_build_object('seen', clock_timestamp())
    WHERE id = buyer;
END $$;

-- Business for some seconds, a transaction each; some commit late.
CREATE PROCEDURE shop_work(seconds double precision) LANGUAGE plpgsql AS $$
DECLARE
    ending timestamptz := clock_timestamp() + seconds * interval '1 second';
BEGIN
    WHILE clock_timestamp() < ending LOOP
        CALL shop_tick();
        PERFORM pg_sleep(CASE WHEN random() < 0.05 THEN 0.5 ELSE 0.01 END);
        COMMIT;
    END LOOP;
END $$;

COMMIT;
