#include "destination_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "lasting_client.h"
#include "scratch.h"

static int client_once(const struct quirks *quirks, const char *place,
		       const char *sql, struct strbuf *out)
{
	char *path = scratch_template("contract-sql");
	int fd = mkstemp(path), status;
	char *command = xstrfmt("%s < %s 2>&1", quirks->client, path);
	FILE *pipe;
	char piece[4096];
	size_t n;

	setenv("TARGET", place, 1);
	assert_true(fd >= 0 &&
		    write(fd, sql, strlen(sql)) == (ssize_t)strlen(sql));
	close(fd);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((n = fread(piece, 1, sizeof(piece), pipe)) > 0)
		strbuf_add(out, piece, n);
	status = pclose(pipe);
	unlink(path);
	free(path);
	free(command);
	return status;
}

int client_run(const struct quirks *quirks, const char *place, const char *sql,
	       struct strbuf *out)
{
	int status;

	strbuf_reset(out);
	status = quirks->lasting ? lasting_ask(quirks->client, place, sql, out)
				 : client_once(quirks, place, sql, out);
	while (out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return status;
}
