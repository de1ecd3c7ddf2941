#include <fcntl.h>
#include <mysql.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients/mysql_connect.h"
#include "clients/mysql_session.h"
#include "core/base/clock.h"

/* A KILL QUERY may come between two statements of one text. MariaDB and MySQL
 * then drop what stands behind and wait for the next command. They say nothing
 * of it, although the answer before has announced another one. */

#define OWED_LOOK_US   US_PER_SECOND
#define OWED_LATEST_US (16 * US_PER_SECOND)
/* An answer may be under way at the first look. */
#define OWED_LOOKS 2
/* How long the thread stays when nothing is owed. */
#define OWED_STAY_US  (60 * US_PER_SECOND)
#define OWED_ANSWER_S 1

static struct {
	pthread_mutex_t lock;
	pthread_cond_t looked;
	struct mysql_client_owed *all;
	bool running;
} owed = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .looked = PTHREAD_COND_INITIALIZER };

/* Does a row of SHOW PROCESSLIST tell of this session, and that nothing runs in
 * it? */
static bool owed_waits(const struct mysql_client *db, char **row)
{
	return row[0] && strtoul(row[0], NULL, 10) == db->id && row[4] &&
	       (!strcmp(row[4], "Sleep") || !strcmp(row[4], "Killed")) &&
	       !row[7];
}

/* In a thread of its own, with which the TLS library's memory for it goes. */
static void *owed_ask(void *arg)
{
	struct mysql_client_owed *o = arg;
	struct mysql_client_target quick = o->db->target;
	MYSQL_RES *res = NULL;
	MYSQL_ROW row;
	MYSQL *other;
	bool ok;

	quick.silence_s = OWED_ANSWER_S;
	o->waits = false;
	other = mysql_client_connect(&quick, quick.tls, NULL, false,
				     OWED_ANSWER_S * 1000, &ok);
	if (ok && !mysql_query(other, "SHOW PROCESSLIST"))
		res = mysql_store_result(other);
	while (res && mysql_num_fields(res) >= 8 &&
	       (row = mysql_fetch_row(res)) != NULL)
		o->waits |= owed_waits(o->db, row);
	if (res)
		mysql_free_result(res);
	if (other)
		mysql_close(other);
	mysql_thread_end();
	return NULL;
}

/* With the lock held, but for the time of the question: `looking` keeps the
 * session meanwhile. */
static void owed_look(struct mysql_client_owed *o)
{
	pthread_t thread;

	o->looking = true;
	pthread_mutex_unlock(&owed.lock);
	if (pthread_create(&thread, NULL, owed_ask, o))
		o->waits = false;
	else
		pthread_join(thread, NULL);
	pthread_mutex_lock(&owed.lock);
	o->looking = false;
	o->looks = o->waits ? o->looks + 1 : 0;
	if (o->looks == OWED_LOOKS) {
		shutdown(o->socket, SHUT_RDWR);
		o->cut = true;
	}
	if (o->looks)
		o->pause_us = OWED_LOOK_US;
	else if (o->pause_us < OWED_LATEST_US)
		o->pause_us *= 2;
	o->look_us = clock_monotonic_us() + o->pause_us;
	pthread_cond_broadcast(&owed.looked);
}

static struct mysql_client_owed *owed_due(void)
{
	int64_t now = clock_monotonic_us();
	struct mysql_client_owed *o = owed.all;

	while (o && (o->cut || o->look_us > now))
		o = o->next;
	return o;
}

static void *owed_main(void *arg)
{
	const struct timespec step = { .tv_sec = 1 };
	int64_t until_us = 0;

	(void)arg;
	pthread_mutex_lock(&owed.lock);
	do {
		struct mysql_client_owed *due = owed_due();

		if (owed.all)
			until_us = clock_monotonic_us() + OWED_STAY_US;
		if (due) {
			owed_look(due);
			continue;
		}
		pthread_mutex_unlock(&owed.lock);
		nanosleep(&step, NULL);
		pthread_mutex_lock(&owed.lock);
	} while (owed.all || clock_monotonic_us() < until_us);
	owed.running = false;
	pthread_mutex_unlock(&owed.lock);
	return NULL;
}

/* A proxy or a pooler has numbers of its own. */
static bool owed_is_known(const struct mysql_client *db)
{
	return !db->session || strtoul(db->session, NULL, 10) == db->id;
}

void mysql_client_owed_begin(struct mysql_client_owed *o,
			     struct mysql_client *db)
{
	pthread_t thread;

	*o = (struct mysql_client_owed){
		.db = db,
		.pause_us = OWED_LOOK_US,
		.look_us = clock_monotonic_us() + OWED_LOOK_US,
		.socket = -1,
	};
	if (owed_is_known(db))
		o->socket = fcntl(mysql_client_socket(db->conn),
				  F_DUPFD_CLOEXEC, 0);
	o->known = o->socket >= 0;
	if (!o->known)
		return;
	pthread_mutex_lock(&owed.lock);
	o->next = owed.all;
	owed.all = o;
	if (!owed.running && !pthread_create(&thread, NULL, owed_main, NULL)) {
		pthread_detach(thread);
		owed.running = true;
	}
	pthread_mutex_unlock(&owed.lock);
}

int mysql_client_owed_end(struct mysql_client_owed *o, int rc,
			  struct error *err)
{
	struct mysql_client_owed **at = &owed.all;

	if (!o->known)
		return rc;
	pthread_mutex_lock(&owed.lock);
	while (o->looking)
		pthread_cond_wait(&owed.looked, &owed.lock);
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	pthread_mutex_unlock(&owed.lock);
	close(o->socket);
	o->db->lost |= o->cut;
	if (!rc || !o->cut || rc == -ERROR_STOPPED)
		return rc;
	error_clear(err);
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the server dropped statements that stood behind "
			 "one it had answered, as a KILL QUERY between the two "
			 "makes it do",
			 o->db->target.where);
}
