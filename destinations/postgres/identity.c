#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/postgres/postgres.h"

static const char cluster_sql[] =
	"SELECT current_database(), system_identifier::text\n"
	"FROM pg_control_system()";

/* A role that may not ask for the cluster knows its address. */
static const char address_sql[] =
	"SELECT current_database(), NULL,\n"
	"  host(inet_server_addr()) || ':' || inet_server_port()";

static void identity_put(json_t *identity, const char *member, const char *text)
{
	if (text)
		json_object_set_new(identity, member, json_string(text));
}

static int identity_server(struct pg *pg, json_t *identity, struct error *err)
{
	struct error why = ERROR_INIT;
	struct pg_result *r = NULL;
	bool address = false;
	int rc = pg_query(pg, &r, cluster_sql, "1tt", 0, NULL, &why);

	if (rc && error_has_code(&why, "42501")) {
		address = true;
		rc = pg_query(pg, &r, address_sql, "1???", 0, NULL, err);
	} else if (rc) {
		*err = why;
	}
	if (!rc) {
		identity_put(identity, "database", pg_value(r, 0, 0));
		identity_put(identity, "system_identifier", pg_value(r, 0, 1));
		if (address)
			identity_put(identity, "server", pg_value(r, 0, 2));
	}
	pg_result_free(r);
	return rc;
}

int postgres_target_identity(struct destination *base,
			     const struct target *target, json_t **out,
			     struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	int rc = postgres_place_set(&place, d->pg, target, err);

	if (!rc) {
		*out = json_pack("{s:s, s:s}", "engine", "postgres", "table",
				 place.readable);
		rc = identity_server(d->pg, *out, err);
	}
	if (rc) {
		json_decref(*out);
		*out = NULL;
	}
	postgres_place_release(&place);
	return rc;
}
