#include "core/base/row_values.h"
#include "tests/unit/unit.h"

static const char *const tails[] = { " for key '", " for column '", NULL };
static const char *const cuts[] = { "Column values: ", NULL };
static const struct row_value_words words = { .tails = tails, .cuts = cuts };
static const struct row_value_words numbers = { .numbers = true };

static const char *const given[] = { "no_twins", "UTF8", NULL };
static const struct row_value_words names = {
	.statement = "INSERT INTO \"a b\".\"items\" (`e m`, id) SELECT 'x'",
	.names = given,
};
static const struct row_value_words strict = {
	.statement = "INSERT INTO items (id)",
	.names = given,
	.strict = true,
};

static const struct {
	const char *text, *kept;
	const struct row_value_words *words;
} cases[] = {
	{ "nothing here", "nothing here", &words },
	{ "Duplicate entry 'ann@x.org' for key 'email'",
	  "Duplicate entry ... for key 'email'", &words },
	/* Values hold whatever they like. */
	{ "Duplicate entry 'O'Brien' for key 'a' b' for key 'email'",
	  "Duplicate entry ... for key 'email'", &words },
	{ "Data too long for column 'name' at row 3",
	  "Data too long for column 'name' at row 3", &words },
	{ "null value in column \"e m\" of relation \"a\".\"b\" violates",
	  "null value in column \"e m\" of relation \"a\".\"b\" violates",
	  NULL },
	{ "invalid input syntax for type integer: \"1\" or \"2\"",
	  "invalid input syntax for type integer: ...", NULL },
	{ "value \"don't\" is no number", "value ... is no number", NULL },
	{ "it doesn't say", "it doesn't say", NULL },
	{ "it ends in 'mid", "it ends in ...", NULL },
	{ "violated at row 1. Column values: a = 'x', b = 2",
	  "violated at row 1. Column values: ...", &words },
	{ "value 300 is no INT8 or DECIMAL(18, 3), row 7, at -1.5e3.",
	  "value ... is no INT8 or DECIMAL(18, 3), row 7, at ....", &numbers },
	{ "no 2026-01-02 10:00:00.5+00, c1 $2", "no ... ..., c1 $2", &numbers },
	{ "value 300", "value 300", NULL },
	/* A name is what was sent, or given. */
	{ "relation \"a b.items\" does not exist",
	  "relation \"a b.items\" does not exist", &names },
	{ "column 'e m' of \"a b\".\"items\"",
	  "column 'e m' of \"a b\".\"items\"", &names },
	{ "relation \"ann\" does not exist", "relation ... does not exist",
	  &names },
	{ "relation \"item\"", "relation ...", &names },
	{ "relation \"tems\"", "relation ...", &names },
	{ "constraint \"no_twins\"", "constraint \"no_twins\"", &names },
	{ "constraint \"no_twin\"", "constraint ...", &names },
	{ "constraint \"twins\"", "constraint ...", &names },
	{ "\"\" is empty", "... is empty", &names },
	{ "column \"id\" of \"id\"", "column \"id\" of ...", &strict },
	{ "encoding \"UTF8\", encoding: \"ann\"",
	  "encoding \"UTF8\", encoding: ...", &strict },
	{ "", "", &words },
};

static void leaves_values_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT;
		bool left = row_values_add(&out, cases[i].text, cases[i].words);

		assert_string_equal(out.data, cases[i].kept);
		assert_int_equal(left,
				 strcmp(cases[i].text, cases[i].kept) != 0);
		strbuf_release(&out);
	}
}

static void shows_them_on_demand(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text, *frame;

		row_values_show(true);
		text = row_values_text(ERROR_DATA, cases[i].text,
				       cases[i].words);
		frame = row_values_frame(cases[i].text, cases[i].words);
		row_values_show(false);
		assert_string_equal(text, cases[i].text);
		assert_string_equal(frame, cases[i].kept);
		free(text);
		free(frame);
	}
}

static void tells_of_it(void **state)
{
	const char *text = "no 'x'";
	char *data = row_values_text(ERROR_DATA, text, NULL);
	char *schema = row_values_text(ERROR_SCHEMA, text, NULL);

	(void)state;
	assert_non_null(strstr(data, "no ... ("));
	assert_non_null(strstr(data, "log.row_values"));
	assert_string_equal(schema, text);
	free(data);
	free(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_values_out),
		cmocka_unit_test(shows_them_on_demand),
		cmocka_unit_test(tells_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
