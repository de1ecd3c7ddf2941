-- By these rights tidemark knows MySQL's open transactions, so that its guarantee
-- is `exact`. MariaDB has no XA_RECOVER_ADMIN, and has to be started with its
-- performance schema: `tidemark check` says how.
GRANT PROCESS, XA_RECOVER_ADMIN ON *.* TO erp;
GRANT SELECT ON performance_schema.* TO erp;
