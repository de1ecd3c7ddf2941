#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/base/utf8.h"
#include "core/serve/notify_parts.h"

/* A command that talks more is heard no further. */
#define COMMAND_HEARD	4096
#define COMMAND_LOOK_MS 50
/* From SIGTERM to SIGKILL. */
#define COMMAND_GRACE_US (2 * US_PER_SECOND)

struct command {
	const char *name;
	pid_t pid;
	int said; /* its stderr */
	size_t heard;
	struct strbuf line;
	int status;
	bool over, termed, late;
};

/* A file takes the text at once, whether or not the command reads it. */
static int command_stdin(const char *text, struct error *err)
{
	size_t n = strlen(text);
	int fd = memfd_create("tidemark-notification", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, text, n) == (ssize_t)n &&
	    !lseek(fd, 0, SEEK_SET))
		return fd;
	error_set(err, ERROR_ACCESS, "no memory for the command's stdin: %s",
		  strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void command_prepare(posix_spawn_file_actions_t *files,
			    posix_spawnattr_t *how, int in, int out)
{
	sigset_t all, none;

	posix_spawn_file_actions_init(files);
	posix_spawn_file_actions_adddup2(files, in, STDIN_FILENO);
	posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null",
					 O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(files, out, STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
	posix_spawnattr_init(how);
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_setsigdefault(how, &all);
	posix_spawnattr_setsigmask(how, &none);
	/* A group of its own, which ends with it. */
	posix_spawnattr_setpgroup(how, 0);
	posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGDEF |
					      POSIX_SPAWN_SETSIGMASK |
					      POSIX_SPAWN_SETPGROUP);
}

static int command_spawn(struct command *c, const struct notify_settings *to,
			 int in, struct error *err)
{
	char **argv = xcalloc(to->command.n + 1, sizeof(*argv));
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC)) {
		free(argv);
		return error_set(err, ERROR_ACCESS, "%s: no pipe: %s", c->name,
				 strerror(errno));
	}
	for (size_t i = 0; i < to->command.n; i++)
		argv[i] = to->command.items[i];
	command_prepare(&files, &how, in, ends[1]);
	rc = posix_spawn(&c->pid, c->name, &files, &how, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	free(argv);
	close(ends[1]);
	c->said = ends[0];
	if (!rc)
		return 0;
	close(ends[0]);
	return error_set(err, ERROR_ACCESS, "%s cannot be run: %s", c->name,
			 strerror(rc));
}

static void command_log(struct command *c)
{
	struct strbuf flat = STRBUF_INIT;

	if (c->line.len) {
		utf8_add_flat(&flat, c->line.data);
		log_warn("%s: %s", c->name, flat.data);
	}
	strbuf_release(&flat);
	strbuf_reset(&c->line);
}

static void command_hear(struct command *c, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c->heard++ >= COMMAND_HEARD)
			return;
		if (text[i] == '\n')
			command_log(c);
		else if (text[i])
			strbuf_addch(&c->line, text[i]);
	}
}

/* Whatever it has said, and a look at whether it has ended. */
static void command_look(struct command *c)
{
	struct pollfd said = { .fd = c->said, .events = POLLIN };
	char text[1024];
	ssize_t n = 0;

	if (poll(&said, c->said >= 0, COMMAND_LOOK_MS) > 0) {
		n = read(c->said, text, sizeof(text));
		if (n > 0) {
			command_hear(c, text, (size_t)n);
		} else {
			close(c->said);
			c->said = -1;
		}
	}
	if (waitpid(c->pid, &c->status, WNOHANG))
		c->over = true;
}

/* Behind its end: what it said and is not read yet. Something that it began may
 * still have the pipe. */
static void command_hear_rest(struct command *c)
{
	char text[1024];
	ssize_t n;

	if (c->said >= 0)
		fcntl(c->said, F_SETFL, O_NONBLOCK);
	while (c->said >= 0 && c->heard < COMMAND_HEARD &&
	       (n = read(c->said, text, sizeof(text))) > 0)
		command_hear(c, text, (size_t)n);
	command_log(c);
	if (c->said >= 0)
		close(c->said);
}

static void command_wait(struct command *c, int64_t timeout_us)
{
	int64_t until = clock_monotonic_us() + timeout_us;

	while (!c->over) {
		int64_t now = clock_monotonic_us();

		if (!c->termed && (now >= until || stop_requested())) {
			c->late = c->termed = true;
			kill(-c->pid, SIGTERM);
			until = now + COMMAND_GRACE_US;
		} else if (c->termed && now >= until) {
			kill(-c->pid, SIGKILL);
		}
		command_look(c);
	}
	/* Nothing that it began outlives its time. */
	if (c->late)
		kill(-c->pid, SIGKILL);
}

static int command_judge(const struct command *c, int64_t timeout_us,
			 struct error *err)
{
	if (c->late && stop_requested())
		return error_set(err, ERROR_STOPPED, "%s: stopped", c->name);
	if (c->late)
		return error_set(err, ERROR_TRANSIENT,
				 "%s was ended, for it took longer than "
				 "%.1f s",
				 c->name,
				 (double)timeout_us / (double)US_PER_SECOND);
	if (WIFSIGNALED(c->status))
		return error_set(err, ERROR_TRANSIENT,
				 "%s was ended by signal %d", c->name,
				 WTERMSIG(c->status));
	if (WEXITSTATUS(c->status))
		return error_set(err, ERROR_TRANSIENT,
				 "%s ended with status %d", c->name,
				 WEXITSTATUS(c->status));
	return 0;
}

int notify_command(const struct notify_settings *to, const char *text,
		   struct error *err)
{
	struct command c = { .name = to->command.items[0],
			     .line = STRBUF_INIT };
	int in = command_stdin(text, err);
	int rc;

	if (in < 0)
		return -(int)err->code;
	rc = command_spawn(&c, to, in, err);
	close(in);
	if (rc)
		return rc;
	command_wait(&c, to->timeout_us);
	command_hear_rest(&c);
	strbuf_release(&c.line);
	return command_judge(&c, to->timeout_us, err);
}
