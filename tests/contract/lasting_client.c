#include "lasting_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/base/pool.h"

/* The lasting client; it ends when its input does, with this process. */
static FILE *lasting_in, *lasting_out;

static void client_become(const char *command, const int in[2],
			  const int out[2])
{
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void client_start(const char *command)
{
	int in[2], out[2];
	pid_t pid;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		client_become(command, in, out);
	close(in[0]);
	close(out[1]);
	lasting_in = fdopen(in[1], "w");
	lasting_out = fdopen(out[0], "r");
	assert_true(lasting_in && lasting_out);
}

int lasting_ask(const char *command, const char *place, const char *sql,
		struct strbuf *out)
{
	char *text;
	size_t n;
	int status;

	/* A file that rests is still open in this process. */
	pool_pause(0);
	if (!lasting_in)
		client_start(command);
	fprintf(lasting_in, "%zu %s\n%s", strlen(sql), place, sql);
	if (fflush(lasting_in) ||
	    fscanf(lasting_out, "%d %zu", &status, &n) != 2 ||
	    fgetc(lasting_out) != '\n') {
		strbuf_addf(out, "%s: no answer", command);
		return -1;
	}
	text = xmalloc(n + 1);
	if (fread(text, 1, n, lasting_out) != n)
		status = -1;
	else
		strbuf_add(out, text, n);
	free(text);
	return status;
}
