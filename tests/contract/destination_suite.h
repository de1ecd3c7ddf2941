/*
 * The parts of the contract suite over destinations. Each test gets a world
 * of its own: an empty database or file.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_DESTINATION_SUITE_H
#define TIDEMARK_TESTS_CONTRACT_DESTINATION_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "destination_world.h"

int suite_setup(void **state);
int suite_teardown(void **state);
struct world *suite_world(void **state);

#define SUITE_TEST(f)                                                          \
	cmocka_unit_test_setup_teardown(f, suite_setup, suite_teardown)

extern const struct CMUnitTest suite_load[];
extern const size_t suite_load_n;
extern const struct CMUnitTest suite_marks[];
extern const size_t suite_marks_n;
extern const struct CMUnitTest suite_preview[];
extern const size_t suite_preview_n;
extern const struct CMUnitTest suite_refusals[];
extern const size_t suite_refusals_n;
extern const struct CMUnitTest suite_schema[];
extern const size_t suite_schema_n;
extern const struct CMUnitTest suite_refresh[];
extern const size_t suite_keyless_n;
extern const struct CMUnitTest suite_keyless[];
extern const size_t suite_refresh_n;
extern const struct CMUnitTest suite_by_hand[];
extern const size_t suite_by_hand_n;
extern const struct CMUnitTest suite_altered[];
extern const size_t suite_altered_n;
extern const struct CMUnitTest suite_changes[];
extern const size_t suite_changes_n;
extern const struct CMUnitTest suite_watched[];
extern const size_t suite_watched_n;
extern const struct CMUnitTest suite_folding[];
extern const size_t suite_folding_n;
extern const struct CMUnitTest suite_types[];
extern const size_t suite_types_n;
extern const struct CMUnitTest suite_failpoints[];
extern const size_t suite_failpoints_n;
extern const struct CMUnitTest suite_mysql[];
extern const size_t suite_mysql_n;
extern const struct CMUnitTest suite_mysql_tables[];
extern const size_t suite_mysql_tables_n;
extern const struct CMUnitTest suite_mysql_watchers[];
extern const size_t suite_mysql_watchers_n;
extern const struct CMUnitTest suite_postgres[];
extern const size_t suite_postgres_n;
extern const struct CMUnitTest suite_fence[];
extern const size_t suite_fence_n;
extern const struct CMUnitTest suite_remove[];
extern const size_t suite_remove_n;
extern const struct CMUnitTest suite_rivals[];
extern const size_t suite_rivals_n;
extern const struct CMUnitTest suite_raise[];
extern const size_t suite_raise_n;
extern const struct CMUnitTest suite_update[];
extern const size_t suite_update_n;
extern const struct CMUnitTest suite_versions[];
extern const size_t suite_versions_n;

#endif
