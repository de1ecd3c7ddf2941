#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "clients/sqlite_handle.h"

/* All that this process has open. */
static struct {
	pthread_mutex_t lock;
	struct sqlite *all;
} beside = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

static void beside_lock(void)
{
	pthread_mutex_lock(&beside.lock);
}

static void beside_unlock(void)
{
	pthread_mutex_unlock(&beside.lock);
}

/* The child's only thread has another number, and cannot unlock. */
static void beside_in_child(void)
{
	beside.lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

/* A thread may be in here while another one forks. The one that forks closes
 * what the pool has at rest, with the lock held. */
static void beside_begin(void)
{
	pthread_atfork(beside_lock, beside_unlock, beside_in_child);
}

void sqlite_beside_add(struct sqlite *db, bool writes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct stat st;

	pthread_once(&once, beside_begin);
	if (stat(db->path, &st))
		return;
	db->device = st.st_dev;
	db->file = st.st_ino;
	db->writes = writes;
	beside_lock();
	db->next = beside.all;
	beside.all = db;
	beside_unlock();
}

void sqlite_beside_remove(struct sqlite *db)
{
	struct sqlite **at = &beside.all;

	beside_lock();
	while (*at && *at != db)
		at = &(*at)->next;
	if (*at)
		*at = db->next;
	beside_unlock();
}

static bool beside_any(const struct sqlite *db)
{
	const struct sqlite *other;

	beside_lock();
	other = beside.all;
	while (other &&
	       (other == db || !other->writes || other->device != db->device ||
		other->file != db->file))
		other = other->next;
	beside_unlock();
	return other != NULL;
}

bool sqlite_blocks_us(struct sqlite *db)
{
	struct sqlite_statement *st = NULL;
	struct error ignored = ERROR_INIT;
	bool wal;

	if (!beside_any(db))
		return false;
	wal = !sqlite_prepare(db, &st, "PRAGMA main.journal_mode", &ignored) &&
	      sqlite_read(st, &ignored) > 0 &&
	      !strcmp(sqlite_str(st, 0), "wal");
	sqlite_finalize(st);
	return !wal;
}
