-- The stock-keeping of a shop, for MySQL 8.0 or MariaDB 10.4 and newer: what
-- docker-compose.yml and mysql-to-postgres.yaml read. Load it into an empty
-- database:
--   mysql erp < examples/erp.sql

-- Changed now and then: synced by timestamp.
CREATE TABLE suppliers (
    id int unsigned AUTO_INCREMENT PRIMARY KEY,
    name varchar(80) NOT NULL,
    country char(2) NOT NULL,
    terms json,
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
        ON UPDATE CURRENT_TIMESTAMP(6),
    INDEX (updated_at, id)
) ENGINE = InnoDB CHARACTER SET utf8mb4;

-- Changed all the time, two columns make the key: synced by timestamp.
CREATE TABLE stock (
    warehouse char(3) NOT NULL,
    product int unsigned NOT NULL,
    quantity int NOT NULL,
    price decimal(10,2) NOT NULL,
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
        ON UPDATE CURRENT_TIMESTAMP(6),
    PRIMARY KEY (warehouse, product),
    INDEX (updated_at, warehouse, product)
) ENGINE = InnoDB CHARACTER SET utf8mb4;

-- Written once and never changed: synced by sequence.
CREATE TABLE movements (
    id bigint unsigned AUTO_INCREMENT PRIMARY KEY,
    warehouse char(3) NOT NULL,
    product int unsigned NOT NULL,
    quantity int NOT NULL,
    moved_on date NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4;

INSERT INTO suppliers (name, country, terms, updated_at)
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200)
SELECT concat(elt(1 + n % 4, 'Ørsted', 'Nguyễn', 'García', '李'), ' & Co. ', n),
       elt(1 + n % 5, 'DE', 'FR', 'IT', 'JP', 'US'),
       json_object('days', 14 + n % 30), '2024-01-01' + INTERVAL n HOUR
FROM s;

INSERT INTO stock (warehouse, product, quantity, price, updated_at)
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500)
SELECT w.name, n, (n * 37) % 400, (n * 101 % 9900 + 100) / 100,
       '2024-02-01' + INTERVAL n MINUTE
FROM s CROSS JOIN (SELECT 'BER' AS name UNION ALL SELECT 'MXP') w;

INSERT INTO movements (warehouse, product, quantity, moved_on)
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900)
SELECT elt(1 + n % 2, 'BER', 'MXP'), 1 + n * 7 % 500, n % 23 - 11,
       '2024-01-01' + INTERVAL n % 90 DAY
FROM s;
