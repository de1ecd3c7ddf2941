#include "core/base/engine.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/strlist.h"

/* Engines that were added stay: others point to them. */
static struct {
	pthread_mutex_t lock;
	const struct engine **items;
	size_t n, capacity;
	engine_loader loader;
} engines = { .lock = PTHREAD_MUTEX_INITIALIZER };

const struct engine *engine_at(size_t i)
{
	const struct engine *found = NULL;
	size_t own = 0;

	while (engine_table[own]) {
		if (own == i)
			return engine_table[own];
		own++;
	}
	pthread_mutex_lock(&engines.lock);
	if (i - own < engines.n)
		found = engines.items[i - own];
	pthread_mutex_unlock(&engines.lock);
	return found;
}

const struct engine *engine_named(const char *name)
{
	const struct engine *e;

	for (size_t i = 0; (e = engine_at(i)); i++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

bool engine_has(const char *name, enum engine_trait trait)
{
	const struct engine *e = engine_named(name);

	return e && e->traits & trait;
}

/* The engine of a scheme of `n` characters. */
static const struct engine *engine_with_scheme(const char *scheme, size_t n)
{
	const struct engine *e;

	for (size_t i = 0; (e = engine_at(i)); i++)
		for (size_t k = 0; e->schemes[k]; k++)
			if (strlen(e->schemes[k]) == n &&
			    !strncasecmp(e->schemes[k], scheme, n))
				return e;
	return NULL;
}

const struct engine *engine_of_url(const char *text)
{
	return engine_with_scheme(text, strcspn(text, ":"));
}

void engine_set_loader(engine_loader loader)
{
	engines.loader = loader;
}

/* Other characters could not stand in front of a colon, or in the name of a
 * module's file. */
static bool engine_is_word(const char *text)
{
	const char *p = text;

	while (islower((unsigned char)*p) || isdigit((unsigned char)*p) ||
	       *p == '_')
		p++;
	return p > text && !*p;
}

static int engine_check_schemes(const struct engine *e, struct error *err)
{
	bool own = false;

	for (size_t i = 0; e->schemes[i]; i++) {
		const char *scheme = e->schemes[i];
		const struct engine *other =
			engine_with_scheme(scheme, strlen(scheme));

		if (!engine_is_word(scheme))
			return error_set(err, ERROR_CONFIG,
					 "its scheme \"%.40s\" holds more than "
					 "small letters, digits and \"_\"",
					 scheme);
		if (other)
			return error_set(err, ERROR_CONFIG,
					 "its scheme \"%s\" is that of the "
					 "engine %s",
					 scheme, other->name);
		own = own || !strcmp(scheme, e->name);
	}
	return own ? 0
		   : error_set(err, ERROR_CONFIG,
			       "its name \"%s\" is none of its schemes",
			       e->name);
}

static int engine_check(const struct engine *e, struct error *err)
{
	if (!e->name || !engine_is_word(e->name))
		return error_set(err, ERROR_CONFIG,
				 "its facts hold no name of small letters, "
				 "digits and \"_\"");
	if (!e->schemes || !*e->schemes)
		return error_set(err, ERROR_CONFIG,
				 "its facts hold no scheme of a URL");
	if (engine_named(e->name))
		return error_set(err, ERROR_CONFIG,
				 "the facts of the engine %s are known "
				 "already; leave .engine out",
				 e->name);
	if (e->traits & ENGINE_FILE && e->traits & ENGINE_SERVER)
		return error_set(err, ERROR_CONFIG,
				 "its facts say that it is a file and a "
				 "server");
	if (e->traits & ENGINE_LIBPQ_URL && !(e->traits & ENGINE_SERVER))
		return error_set(err, ERROR_CONFIG,
				 "its facts say that libpq reads its URLs, and "
				 "not that it is a server");
	return engine_check_schemes(e, err);
}

int engine_add(const struct engine *e, struct error *err)
{
	const struct engine *other;
	int rc;

	for (size_t i = 0; (other = engine_at(i)); i++)
		if (other == e)
			return 0;
	rc = engine_check(e, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&engines.lock);
	engines.items = xgrow(engines.items, &engines.capacity, engines.n + 1,
			      sizeof(*engines.items));
	engines.items[engines.n++] = e;
	pthread_mutex_unlock(&engines.lock);
	return 0;
}

static char *engine_near_scheme(const char *scheme)
{
	struct strlist all = STRLIST_INIT;
	const struct engine *e;
	char *near;

	for (size_t i = 0; (e = engine_at(i)); i++)
		for (size_t k = 0; e->schemes[k]; k++)
			strlist_add(&all, e->schemes[k]);
	near = xstrdup(
		nearest_name(scheme, (const char *const *)all.items, all.n));
	strlist_release(&all);
	return near;
}

static int engine_unknown(const char *scheme, const struct strbuf *refused,
			  struct error *err)
{
	char *near = engine_near_scheme(scheme);
	struct strbuf known = STRBUF_INIT;
	const struct engine *e;

	error_set(err, ERROR_CONFIG, "unknown URL scheme \"%.40s\"", scheme);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	for (size_t i = 0; (e = engine_at(i)); i++)
		strbuf_addf(&known, "%s, ", e->listed ? e->listed : e->name);
	error_hint(err,
		   "known: %sand that of each module in $TIDEMARK_PLUGIN_PATH",
		   known.data);
	if (refused->len)
		error_hint(err, "not asked: %s", refused->data);
	strbuf_release(&known);
	free(near);
	return -ERROR_CONFIG;
}

int engine_find(const char *scheme, const struct engine **out,
		struct error *err)
{
	struct strbuf refused = STRBUF_INIT;
	size_t n = strlen(scheme);
	int rc = 0;

	*out = engine_with_scheme(scheme, n);
	if (*out)
		return 0;
	if (engines.loader && engine_is_word(scheme))
		rc = engines.loader(scheme, &refused, err);
	if (!rc && !(*out = engine_with_scheme(scheme, n)))
		rc = engine_unknown(scheme, &refused, err);
	strbuf_release(&refused);
	return rc;
}
