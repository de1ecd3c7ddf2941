#include <stdlib.h>
#include <string.h>

#include "connectors/mysql/idle.h"
#include "connectors/mysql/looks.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"

/* information_schema.check_constraints, CAST ... AS DOUBLE */
#define MYSQL_OLDEST   80000
#define MARIADB_OLDEST 100400

static struct mysql_source *mysql_self(struct connector *base)
{
	return (struct mysql_source *)base;
}

static int mysql_check_version(const struct mysql_source *c, struct error *err)
{
	bool mariadb = mysql_client_is_mariadb(c->db);
	unsigned long version = mysql_client_version(c->db);
	unsigned long oldest = mariadb ? MARIADB_OLDEST : MYSQL_OLDEST;

	if (version >= oldest)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "connection %s: %s %lu.%lu is too old: %lu.%lu or "
			 "newer is needed",
			 c->name, mariadb ? "MariaDB" : "MySQL",
			 version / 10000, version / 100 % 100, oldest / 10000,
			 oldest / 100 % 100);
}

static void mysql_close_source(struct connector *base)
{
	struct mysql_source *c = mysql_self(base);

	if (!c)
		return;
	if (c->db && !c->foreign && !c->paged.layout.table.view)
		mysql_client_holds_nothing(c->db);
	paged_release(&c->paged);
	json_decref(c->identity);
	json_decref(c->looked);
	mysql_source_idle_forget(c);
	mysql_client_close(c->db);
	free(c->forms);
	free(c->name);
	free(c);
}

static int mysql_open_source(struct connector **out,
			     const struct connection *conn, struct error *err)
{
	const struct mysql_client_options options = { .read_only = true,
						      .application = "source" };
	struct mysql_source *c = xcalloc(1, sizeof(*c));
	int rc;

	paged_init(&c->paged, &mysql_connector, &mysql_source_dialect);
	c->name = xstrdup(conn->name);
	rc = mysql_client_open(&c->db, conn, &options, err);
	if (!rc)
		rc = mysql_check_version(c, err);
	if (rc)
		mysql_close_source(&c->paged.base);
	else
		*out = &c->paged.base;
	return rc;
}

static int mysql_scan(struct connector *base, const struct scan *scan,
		      struct error *err)
{
	mysql_source_idle_pass(mysql_self(base));
	return paged_scan(base, scan, err);
}

static int mysql_next(struct connector *base, struct batch *out,
		      struct error *err)
{
	struct mysql_source *c = mysql_self(base);
	int rc = paged_next(base, out, err);

	/* A run that reads nothing leaves the mark as it is. */
	if (!rc && c->looked && c->paged.pass.rows)
		mysql_source_looks_store(c->looked, &out->watermark);
	return rc;
}

static void mysql_interrupt(struct connector *base)
{
	mysql_client_interrupt(mysql_self(base)->db);
}

/* A BIT counts as a number, but an expression orders it. */
static bool mysql_mark_fits(const struct source_column *c,
			    enum strategy strategy)
{
	return source_mark_fits(c, strategy) &&
	       mysql_source_how(c)->order == ORDER_PLAIN;
}

const struct paged_dialect mysql_source_dialect = {
	.rules = { .engine = "mysql",
		   .title = "MySQL and MariaDB",
		   .time_types = "timestamp, datetime or date",
		   .number_types = "an integer (or decimal without fraction)",
		   .mark_fits = mysql_mark_fits },
	.select = "SELECT " MYSQL_SOURCE_TAG " ",
	.unindexed = "; give it an index",
	.look = mysql_source_look,
	.ordered = mysql_source_ordered,
	.value = mysql_source_write_value,
	.hint = mysql_source_hint,
	.lookup_keys = PAGED_LOOKUP_PARAMETERS,
	.keys = paged_write_keys,
	.newest = mysql_source_newest,
	.query = mysql_source_query,
	.explain = mysql_source_explain,
	.page_open = mysql_source_page_open,
	.page_read = mysql_source_page_read,
	.page_close = mysql_source_page_close,
	.page_type = mysql_source_page_type,
	.position = paged_position,
};

static const struct url_option mysql_url_options[] = {
	{ "tls", "verify-full off loopback",
	  "disabled, required, verify-ca or verify-full, where the "
	  "connection's "
	  "tls.mode says nothing" },
	{ "ssl-ca", "the system's authorities",
	  "file with the authority that signed the server's certificate" },
	{ "socket", "", "path of the server's socket instead of TCP" },
	{ NULL, NULL, NULL },
};

const struct connector_ops mysql_connector = {
	.name = "mysql",
	.options = mysql_url_options,
	.grants = mysql_source_grants,
	.open = mysql_open_source,
	.tables = mysql_source_tables,
	.describe = paged_describe,
	.inspect = mysql_source_inspect,
	.suggest = paged_suggest,
	.identity = mysql_source_identity,
	.settle = mysql_source_settle,
	.cut = paged_cut,
	.scan = mysql_scan,
	.explain = paged_explain,
	.next = mysql_next,
	.pause = mysql_source_pause,
	.pressure = mysql_source_pressure,
	.interrupt = mysql_interrupt,
	.close = mysql_close_source,
};
