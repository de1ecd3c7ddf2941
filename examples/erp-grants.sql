-- What tidemark needs on MySQL to know which transactions are open, so that
-- its guarantee is `exact`. On MariaDB: GRANT PROCESS alone.
GRANT PROCESS, XA_RECOVER_ADMIN ON *.* TO erp;
