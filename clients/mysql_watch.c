#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients/mysql_connect.h"
#include "clients/mysql_session.h"
#include "core/base/stop.h"

/* How long the server may take to answer once a stop was requested. */
#define WATCH_STOP_PATIENCE_MS 2000

static void *mysql_client_watch_main(void *arg)
{
	const struct mysql_client_watch *w = arg;
	struct pollfd fds[] = { { .fd = w->end[0], .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };
	int n;

	do {
		n = poll(fds, 2, w->limit_ms);
	} while (n < 0 && errno == EINTR);
	if (n && fds[0].revents)
		return NULL;
	while (n && (n = poll(fds, 1, WATCH_STOP_PATIENCE_MS)) < 0 &&
	       errno == EINTR)
		;
	if (!n)
		shutdown(w->socket, SHUT_RDWR);
	return NULL;
}

void mysql_client_watch_begin(struct mysql_client_watch *w,
			      struct mysql_client *db)
{
	mysql_client_watch_begin_for(w, db, -1);
}

void mysql_client_watch_begin_for(struct mysql_client_watch *w,
				  struct mysql_client *db, int limit_ms)
{
	w->db = db;
	w->limit_ms = limit_ms;
	w->socket = mysql_client_socket(db->conn);
	w->started = false;
	if (pipe2(w->end, O_CLOEXEC) < 0)
		return;
	w->started =
		!pthread_create(&w->thread, NULL, mysql_client_watch_main, w);
	if (w->started)
		return;
	close(w->end[0]);
	close(w->end[1]);
}

int mysql_client_watch_end(struct mysql_client_watch *w, int rc,
			   struct error *err)
{
	if (w->started) {
		close(w->end[1]);
		pthread_join(w->thread, NULL);
		close(w->end[0]);
	}
	if (!rc || !stop_requested())
		return rc;
	error_clear(err);
	return error_set(err, ERROR_STOPPED, "%s: stopped by a signal",
			 w->db->target.where);
}
