#include "core/base/secret.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/base/strlist.h"

/* Shorter values would blank ordinary text. */
#define SECRET_SHORTEST 4

static pthread_mutex_t secret_lock = PTHREAD_MUTEX_INITIALIZER;
static struct strlist secrets = STRLIST_INIT;

static void secret_remember(const char *value)
{
	if (strlen(value) >= SECRET_SHORTEST && !strlist_has(&secrets, value))
		strlist_add(&secrets, value);
}

/* As it stands in a URL: all but the unreserved characters of RFC 3986. */
static void secret_percent_encode(struct strbuf *sb, const char *value)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *value; value++) {
		if (strchr(plain, *value))
			strbuf_addch(sb, *value);
		else
			strbuf_addf(sb, "%%%02X", (unsigned char)*value);
	}
}

void secret_add(const char *value)
{
	struct strbuf encoded = STRBUF_INIT;

	if (!value)
		return;
	secret_percent_encode(&encoded, value);
	pthread_mutex_lock(&secret_lock);
	secret_remember(value);
	secret_remember(encoded.data);
	pthread_mutex_unlock(&secret_lock);
	strbuf_release(&encoded);
}

static void secret_blank(char *text, const char *secret)
{
	size_t n = strlen(secret);
	char *at = text;

	while ((at = strstr(at, secret))) {
		memcpy(at, "***", 3);
		memmove(at + 3, at + n, strlen(at + n) + 1);
		at += 3;
	}
}

void secret_scrub(char *text)
{
	pthread_mutex_lock(&secret_lock);
	for (size_t i = 0; i < secrets.n; i++)
		secret_blank(text, secrets.items[i]);
	pthread_mutex_unlock(&secret_lock);
}

void secret_forget_all(void)
{
	pthread_mutex_lock(&secret_lock);
	strlist_release(&secrets);
	pthread_mutex_unlock(&secret_lock);
}
