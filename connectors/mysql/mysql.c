#include <stdlib.h>
#include <string.h>

#include "connectors/mysql/source.h"
#include "core/base/alloc.h"

/* information_schema.check_constraints, CAST ... AS DOUBLE */
#define MYSQL_OLDEST   80000
#define MARIADB_OLDEST 100400

void mysrc_end_pass(struct mysrc *c)
{
	mydb_stream_abort(c->db);
	running_mark_release(&c->pass.mark);
	strlist_release(&c->pass.last);
	memset(&c->pass, 0, sizeof(c->pass));
}

static int mysql_check_version(const struct mysrc *c, struct error *err)
{
	bool mariadb = mydb_is_mariadb(c->db);
	unsigned long version = mydb_version(c->db);
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
	struct mysrc *c = (struct mysrc *)base;

	if (!c)
		return;
	if (c->db)
		mysrc_end_pass(c);
	mysrc_layout_release(&c->layout);
	json_decref(c->identity);
	json_decref(c->looked);
	free(c->mark_column);
	free(c->name);
	mydb_close(c->db);
	free(c);
}

static int mysql_open_source(struct connector **out,
			     const struct connection *conn, struct error *err)
{
	const struct mydb_options options = { .read_only = true,
					      .application = "source" };
	struct mysrc *c = xcalloc(1, sizeof(*c));
	int rc;

	c->base.ops = &mysql_connector;
	c->name = xstrdup(conn->name);
	rc = mydb_open(&c->db, conn, &options, err);
	if (!rc)
		rc = mysql_check_version(c, err);
	/* A day old is what AUTO_INCREMENT would be otherwise. */
	if (!rc && !mydb_is_mariadb(c->db))
		rc = mydb_exec(c->db,
			       "SET SESSION information_schema_stats_expiry "
			       "= 0",
			       err);
	if (rc)
		mysql_close_source(&c->base);
	else
		*out = &c->base;
	return rc;
}

int mysrc_layout_for(struct mysrc *c, const struct source_spec *source,
		     const struct watermark_spec *mark, struct error *err)
{
	const char *column = mark->column ? mark->column : "";
	int rc;

	if (c->described == source && c->strategy == mark->strategy &&
	    !strcmp(c->mark_column ? c->mark_column : "", column))
		return 0;
	mysrc_layout_release(&c->layout);
	c->described = NULL;
	rc = mysrc_layout_read(c->db, source, mark, &c->layout, err);
	if (rc)
		return rc;
	free(c->mark_column);
	c->mark_column = xstrdup(column);
	c->strategy = mark->strategy;
	c->described = source;
	return 0;
}

static int mysql_describe(struct connector *base,
			  const struct source_spec *source,
			  const struct watermark_spec *mark, struct schema *out,
			  struct error *err)
{
	struct mysrc *c = (struct mysrc *)base;
	int rc;

	c->described = NULL;
	mysrc_end_pass(c);
	rc = mysrc_layout_for(c, source, mark, err);
	if (!rc)
		mysrc_layout_to_schema(&c->layout, source->table, out);
	return rc;
}

static int mysql_scan(struct connector *base, const struct scan *scan,
		      struct error *err)
{
	struct mysrc *c = (struct mysrc *)base;
	int rc;

	mysrc_end_pass(c);
	rc = mysrc_layout_for(c, scan->source, scan->mark, err);
	if (rc)
		return rc;
	c->pass.scan = scan;
	running_mark_begin(&c->pass.mark, scan);
	return mysrc_keyset_begin(c, err);
}

static int mysql_next(struct connector *base, struct batch *out,
		      struct error *err)
{
	struct mysrc *c = (struct mysrc *)base;
	int rc;

	if (!c->pass.scan)
		return error_set(err, ERROR_BUG, "next without scan");
	rc = mysrc_keyset_next(c, out, err);
	if (rc)
		mysrc_end_pass(c);
	return rc;
}

static void mysql_interrupt(struct connector *base)
{
	mydb_interrupt(((struct mysrc *)base)->db);
}

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
	.open = mysql_open_source,
	.tables = mysrc_tables,
	.describe = mysql_describe,
	.inspect = mysrc_inspect,
	.suggest = mysrc_suggest,
	.identity = mysrc_identity,
	.settle = mysrc_settle,
	.scan = mysql_scan,
	.next = mysql_next,
	.interrupt = mysql_interrupt,
	.close = mysql_close_source,
};
