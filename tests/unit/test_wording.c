#include "core/base/wording.h"
#include "tests/unit/unit.h"

static const char *const patterns[] = {
	"Unknown column '%' in '%'",
	"Duplicate entry '*' for key '&'",
	"% denied to user '%'@'%'",
	"too long for column '%' at row #",
	"near '~' at line #",
	"Too many connections",
	NULL,
};
static const char *const names[] = { "field list", "INSERT", "BINLOG ADMIN",
				     NULL };

static const struct {
	const char *text, *kept; /* NULL: no wording of the server's */
	bool given;
} cases[] = {
	{ "Unknown column 'seq' in 'field list'",
	  "Unknown column 'seq' in 'field list'", true },
	{ "Unknown column 'ann' in 'field list'",
	  "Unknown column ... in 'field list'", true },
	{ "Unknown column 'ann' or bob 'ann' in 'cee'",
	  "Unknown column ... in ...", true },
	{ "Unknown column 'ann", NULL, true },
	{ "Unknown column ann", NULL, true },
	{ "ann", NULL, true },
	{ "", NULL, true },
	{ "Duplicate entry 'a' for key 'b' for key 'email'",
	  "Duplicate entry ... for key 'email'", true },
	{ "Duplicate entry 'a' for key 'email'",
	  "Duplicate entry ... for key ...", false },
	{ "Duplicate entry 'a' for key 'seq'",
	  "Duplicate entry ... for key 'seq'", false },
	{ "Duplicate entry 'a' for key '555 1234'",
	  "Duplicate entry ... for key ...", true },
	{ "Duplicate entry 'a' for key '5551234'",
	  "Duplicate entry ... for key ...", true },
	{ "INSERT, BINLOG ADMIN denied to user 'items'@'h'",
	  "INSERT, BINLOG ADMIN denied to user 'items'@...", true },
	{ "INSERT, ann denied to user 'items'@'h'",
	  "... denied to user 'items'@...", true },
	{ "too long for column 'seq' at row 12",
	  "too long for column 'seq' at row 12", true },
	{ "too long for column 'seq' at row 5551234",
	  "too long for column 'seq' at row ...", true },
	{ "too long for column 'seq' at row ann",
	  "too long for column 'seq' at row ...", true },
	{ "near 'INTO it' at line 1", "near 'INTO it' at line 1", true },
	{ "near 'ann' at line 1", "near ... at line 1", true },
	{ "Too many connections", "Too many connections", true },
	{ "Too many connections of ann", NULL, true },
};

static void only_the_servers_words_are_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct wording_words words = {
			.known = { .statement = "INSERT INTO items (seq)",
				   .names = names },
			.given = cases[i].given,
		};
		struct strbuf out = STRBUF_INIT;
		bool left_out = false;
		bool fits = wording_add(&out, cases[i].text, patterns, &words,
					&left_out);

		assert_int_equal(fits, cases[i].kept != NULL);
		assert_string_equal(out.data ? out.data : "",
				    fits ? cases[i].kept : "");
		if (fits)
			assert_int_equal(left_out, strcmp(cases[i].text,
							  cases[i].kept) != 0);
		strbuf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_servers_words_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
