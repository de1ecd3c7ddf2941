"""Tidemark's open sessions and transactions at a server."""


def transactions(end):
    """Sessions of ours that have a transaction open; since when, at the end
    of each."""
    if end.engine == "postgres":
        with end.cluster.admin() as admin:
            return admin.execute(
                "SELECT application_name, state, query, xact_start "
                "FROM pg_stat_activity "
                "WHERE datname = %s AND application_name LIKE 'tidemark/%%' "
                "AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL)",
                [end.database]).fetchall()
    with end.server.admin() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT t.trx_state, p.info, t.trx_started FROM "
                       "information_schema.innodb_trx t JOIN "
                       "information_schema.processlist p "
                       "ON p.id = t.trx_mysql_thread_id "
                       f"WHERE p.db = '{end.database}'")
        return cursor.fetchall()
