/*
 * One place where a state store of an engine lives, made new for each test: a
 * fresh directory, or a dropped schema. Shared by the store_*.c suites; what
 * fails ends the test.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_STORE_WORLD_H
#define TIDEMARK_TESTS_CONTRACT_STORE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plugin/store.h"
#include "core/store/history.h"
#include <cmocka.h>
#include <sys/types.h>

extern const struct store_ops sqlite_store, postgres_store;

struct place {
	const struct store_ops *ops;
	struct connection conn;
	char *directory; /* a file's, or NULL */
};

int place_make_file(void **state);
int place_make_postgres(void **state);
int place_unmake(void **state);
/* Run statements beside the store's handles. */
void place_sql(const struct place *p, const char *sql);
/* Open and migrate. */
struct store *place_open(const struct place *p);

/* A RUNNING attempt of pipeline orders, of a process of another host. Borrows
 * its texts. */
struct attempt attempt_of(const char *id, const char *run);
void place_save(struct store *s, const struct attempt *a);
struct attempt_list place_list(struct store *s, const char *pipeline,
			       int64_t limit);
void check_run_state(const struct place *p, const char *run_id,
		     const char *expected);
/* The pid of a child that has ended. */
pid_t dead_pid(void);

/* The tests of one file, for each engine. */
#define EACH(make, f)                                                          \
	{                                                                      \
		"store " #make ": " #f, f, place_make_##make, place_unmake,    \
			NULL                                                   \
	}
extern const struct CMUnitTest store_places_file[], store_places_postgres[];
extern const size_t store_places_n;
/* Tests for files alone. */
extern const struct CMUnitTest store_files[];
extern const size_t store_files_n;
extern const struct CMUnitTest store_leases_file[], store_leases_postgres[];
extern const size_t store_leases_n;
void knows_a_run_to_come(void **state);
extern const struct CMUnitTest store_runs_file[], store_runs_postgres[];
extern const size_t store_runs_n;
extern const struct CMUnitTest store_chunks_file[], store_chunks_postgres[];
extern const size_t store_chunks_n;
/* Where rows are locked by themselves. */
void passes_by_a_locked_chunk(void **state);
void leaves_a_lease_from_afar(void **state);
void goes_past_a_chunk_with_a_lease(void **state);
extern const struct CMUnitTest store_letters_file[], store_letters_postgres[];
extern const size_t store_letters_n;

#endif
