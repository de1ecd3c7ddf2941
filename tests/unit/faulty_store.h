/*
 * A real state store, in a temporary SQLite file, behind a wrapper that fails
 * on purpose: the store of the engine "fake". Every handle that is opened, also
 * by another thread, is one of the same file.
 */
#ifndef TIDEMARK_TESTS_UNIT_FAULTY_STORE_H
#define TIDEMARK_TESTS_UNIT_FAULTY_STORE_H

#include "core/plugin/store.h"

extern const struct store_ops faulty_store_ops;

/* Nothing is stored, nothing fails, and the clock is right. */
void faulty_store_reset(void);
/* The handle to run with, of the calling thread; made, and open to the end. */
struct store *faulty_store(void);

/* Pieces by which statements are told. */
#define FAULTY_TAKE    "UPDATE leases SET fence = fence + 1"
#define FAULTY_RENEW   "+ $1\nWHERE name = $2 AND holder = $3"
#define FAULTY_GIVE    "UPDATE leases SET until = $1"
#define FAULTY_BATCH   "INSERT INTO batches"
#define FAULTY_LETTERS "INSERT INTO dead_letters"

/* The next `times` statements that hold `piece` fail; < 0: until it is told
 * otherwise. */
void faulty_store_fail(const char *piece, enum error_code code, int times);
/* How many such statements were asked for, failed ones among them. */
int faulty_store_count(const char *piece);
/* Handles that are open now. */
int faulty_store_handles(void);
/* The store's clock is so far ahead of ours. */
void faulty_store_clock(int64_t ahead_us);

/* For use beside the run, in any thread, and without a fault. One runs a
 * statement. The others return the first value that it selects, NULL or 0 if
 * there is none. The text lives until the next question. */
void faulty_store_do(const char *sql);
const char *faulty_store_text(const char *sql);
int64_t faulty_store_number(const char *sql);

/* By which many ask. */
#define LAST_STATE     "SELECT state FROM attempts ORDER BY seq DESC LIMIT 1"
#define LOADED_BATCHES "SELECT count(*) FROM batches WHERE error_code IS NULL"
#define LETTERS	       "SELECT count(*) FROM dead_letters"

#endif
