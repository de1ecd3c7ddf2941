#include "core/base/secret.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/base/strlist.h"
#include "core/base/url_secrets.h"

#define SECRET_MIN 4
/* Shorter than any secret, so that it fits in the place of one. */
#define SECRET_MASK 3

/* Longest first, so that a secret which begins with another one is replaced
 * whole. */
static struct strlist secrets = STRLIST_INIT;
static pthread_mutex_t secret_lock = PTHREAD_MUTEX_INITIALIZER;

static void secret_insert(const char *value)
{
	size_t length = strlen(value), i;
	char *item;

	if (length < SECRET_MIN || strlist_has(&secrets, value))
		return;
	strlist_add(&secrets, value);
	item = secrets.items[secrets.n - 1];
	for (i = secrets.n - 1; i && strlen(secrets.items[i - 1]) < length; i--)
		secrets.items[i] = secrets.items[i - 1];
	secrets.items[i] = item;
}

static char *secret_encoded(const char *value)
{
	struct strbuf sb = STRBUF_INIT;

	for (const char *p = value; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (isalnum(c) || strchr("-._~", c))
			strbuf_addch(&sb, *p);
		else
			strbuf_addf(&sb, "%%%02X", c);
	}
	return strbuf_detach(&sb);
}

void secret_add(const char *value)
{
	char *encoded;

	if (!value || strlen(value) < SECRET_MIN)
		return;
	encoded = secret_encoded(value);
	pthread_mutex_lock(&secret_lock);
	secret_insert(value);
	secret_insert(encoded);
	pthread_mutex_unlock(&secret_lock);
	free(encoded);
}

static void secret_replace(char *text, const char *secret)
{
	size_t n = strlen(secret), mask = SECRET_MASK;

	while ((text = strstr(text, secret))) {
		memset(text, '*', mask);
		memmove(text + mask, text + n, strlen(text + n) + 1);
		text += mask;
	}
}

void secret_scrub(char *text)
{
	/* Remember whole secrets first: a secret with a space in it would be
	 * cut there. */
	pthread_mutex_lock(&secret_lock);
	for (size_t i = 0; i < secrets.n; i++)
		secret_replace(text, secrets.items[i]);
	pthread_mutex_unlock(&secret_lock);
	url_scrub(text);
}

void secret_forget_all(void)
{
	pthread_mutex_lock(&secret_lock);
	strlist_release(&secrets);
	pthread_mutex_unlock(&secret_lock);
}
