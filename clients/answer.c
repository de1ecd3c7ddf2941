#include "clients/answer.h"

#include <string.h>

static bool answer_rows_are(size_t n, char wanted)
{
	switch (wanted) {
	case '1':
		return n == 1;
	case '+':
		return n > 0;
	default:
		return true;
	}
}

static int answer_check_cells(const struct answer *a, const char *columns,
			      const char *where, struct error *err)
{
	for (size_t row = 0; row < a->n_rows; row++) {
		for (size_t i = 0; i < a->n_columns; i++) {
			if (columns[i] == '?' || !a->is_null(a->result, row, i))
				continue;
			return error_set(err, ERROR_TRANSIENT,
					 "%s: the answer has NULL in column "
					 "%zu of row %zu, where a value is due",
					 where, i + 1, row + 1);
		}
	}
	return 0;
}

size_t answer_columns(const char *shape)
{
	return strlen(shape) - (*shape == '1' || *shape == '+');
}

int answer_check(const struct answer *a, const char *shape, const char *where,
		 struct error *err)
{
	char rows;
	size_t n;

	if (!shape)
		return 0;
	rows = *shape;
	shape += rows == '1' || rows == '+';
	n = answer_columns(shape);
	if (a->n_rows && a->n_columns != n)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the answer has %zu columns where %zu "
				 "are due",
				 where, a->n_columns, n);
	if (!answer_rows_are(a->n_rows, rows))
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the answer has %zu rows where %s is due",
				 where, a->n_rows,
				 rows == '1' ? "one" : "at least one");
	return answer_check_cells(a, shape, where, err);
}
