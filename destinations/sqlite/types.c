#include "destinations/sqlite/types.h"

#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/decimal.h"
#include "core/data/value.h"
#include "destinations/common/mark_order.h"

enum affinity {
	AFFINITY_INTEGER,
	AFFINITY_TEXT,
	AFFINITY_NONE,
	AFFINITY_REAL,
	AFFINITY_NUMERIC
};

/* The form of a stored value. */
enum storage {
	STORAGE_INTEGER,
	STORAGE_REAL, /* NaN, which SQLite takes for NULL, is 'NaN' */
	STORAGE_NUMERAL, /* text that looks like a number */
	STORAGE_CALENDAR, /* text that never looks like one */
	STORAGE_TEXT,
	STORAGE_BLOB
};

static const struct {
	const char *declared;
	enum storage storage;
	enum mapping mapping;
} type_table[TYPE_KINDS] = {
	[TYPE_BOOL] = { "BOOLEAN", STORAGE_INTEGER, MAPPING_EXACT },
	[TYPE_INT16] = { "INTEGER", STORAGE_INTEGER, MAPPING_EXACT },
	[TYPE_INT32] = { "INTEGER", STORAGE_INTEGER, MAPPING_EXACT },
	[TYPE_INT64] = { "INTEGER", STORAGE_INTEGER, MAPPING_EXACT },
	[TYPE_UINT64] = { "TEXT", STORAGE_NUMERAL, MAPPING_WIDENED },
	[TYPE_FLOAT32] = { "REAL", STORAGE_REAL, MAPPING_WIDENED },
	[TYPE_FLOAT64] = { "REAL", STORAGE_REAL, MAPPING_WIDENED },
	[TYPE_DECIMAL] = { "TEXT", STORAGE_NUMERAL, MAPPING_WIDENED },
	[TYPE_TEXT] = { "TEXT", STORAGE_TEXT, MAPPING_EXACT },
	[TYPE_BYTES] = { "BLOB", STORAGE_BLOB, MAPPING_EXACT },
	[TYPE_DATE] = { "TEXT", STORAGE_CALENDAR, MAPPING_WIDENED },
	[TYPE_TIME] = { "TEXT", STORAGE_CALENDAR, MAPPING_WIDENED },
	[TYPE_TIMESTAMP] = { "TEXT", STORAGE_CALENDAR, MAPPING_WIDENED },
	[TYPE_TIMESTAMPTZ] = { "TEXT", STORAGE_CALENDAR, MAPPING_WIDENED },
	[TYPE_INTERVAL] = { "TEXT", STORAGE_TEXT, MAPPING_WIDENED },
	[TYPE_UUID] = { "TEXT", STORAGE_CALENDAR, MAPPING_WIDENED },
	[TYPE_JSON] = { "TEXT", STORAGE_TEXT, MAPPING_WIDENED },
	[TYPE_NATIVE] = { "TEXT", STORAGE_TEXT, MAPPING_WIDENED },
};

/* sqlite.org/datatype3.html, section 3.1: the first rule that matches. */
static enum affinity type_affinity(const char *declared)
{
	if (strcasestr(declared, "INT"))
		return AFFINITY_INTEGER;
	if (strcasestr(declared, "CHAR") || strcasestr(declared, "CLOB") ||
	    strcasestr(declared, "TEXT"))
		return AFFINITY_TEXT;
	if (strcasestr(declared, "BLOB") || !declared[0])
		return AFFINITY_NONE;
	if (strcasestr(declared, "REAL") || strcasestr(declared, "FLOA") ||
	    strcasestr(declared, "DOUB"))
		return AFFINITY_REAL;
	return AFFINITY_NUMERIC;
}

const char *sqlite_target_type_declared(enum type_kind kind)
{
	return type_table[kind].declared;
}

enum mapping sqlite_target_type_mapping(enum type_kind kind)
{
	return type_table[kind].mapping;
}

/* A STRICT table refuses what its type does not name; ANY takes all. */
static enum fit type_fit_strict(enum storage storage, const char *declared)
{
	bool text = storage != STORAGE_INTEGER && storage != STORAGE_REAL &&
		    storage != STORAGE_BLOB;

	if (strcasecmp(declared, "ANY") == 0)
		return FIT_WIDER;
	if (storage == STORAGE_BLOB)
		return strcasecmp(declared, "BLOB") ? FIT_NARROW : FIT_EXACT;
	if (strcasecmp(declared, "TEXT") == 0)
		return text ? FIT_EXACT : FIT_NARROW;
	if (strcasecmp(declared, "REAL") == 0)
		return storage == STORAGE_REAL ? FIT_EXACT : FIT_NARROW;
	if (strcasecmp(declared, "BLOB") == 0)
		return FIT_NARROW;
	return storage == STORAGE_INTEGER ? FIT_EXACT : FIT_NARROW;
}

static enum fit type_fit_number(enum type_kind kind, enum affinity affinity)
{
	bool narrow = kind != TYPE_INT64;

	if (type_table[kind].storage == STORAGE_INTEGER) {
		/* A double holds whole numbers up to 2^53. */
		if (affinity == AFFINITY_REAL)
			return narrow ? FIT_WIDER : FIT_NARROW;
		return affinity == AFFINITY_INTEGER ? FIT_EXACT : FIT_WIDER;
	}
	/* Text affinity prints a double with 15 digits; INTEGER is somebody's
	 * wish for whole numbers. */
	if (affinity == AFFINITY_TEXT || affinity == AFFINITY_INTEGER)
		return FIT_NARROW;
	return affinity == AFFINITY_REAL ? FIT_EXACT : FIT_WIDER;
}

enum fit sqlite_target_type_fit(enum type_kind kind, const char *declared,
				bool strict)
{
	enum storage storage = type_table[kind].storage;
	enum affinity affinity = type_affinity(declared);

	if (strict)
		return type_fit_strict(storage, declared);
	if (strcasecmp(declared, type_table[kind].declared) == 0)
		return FIT_EXACT;
	switch (storage) {
	case STORAGE_INTEGER:
	case STORAGE_REAL:
		return type_fit_number(kind, affinity);
	case STORAGE_BLOB:
		/* A blob stays one under any affinity. */
		return affinity == AFFINITY_NONE || affinity == AFFINITY_TEXT
			       ? FIT_WIDER
			       : FIT_NARROW;
	case STORAGE_CALENDAR:
		/* DATE, DATETIME and TIMESTAMP have NUMERIC affinity, which
		 * leaves alone what does not look like a number. */
		return affinity == AFFINITY_INTEGER || affinity == AFFINITY_REAL
			       ? FIT_NARROW
			       : FIT_WIDER;
	default:
		if (affinity == AFFINITY_TEXT || affinity == AFFINITY_NONE)
			return FIT_WIDER;
		/* A whole number prints as itself. */
		return storage == STORAGE_NUMERAL &&
				       affinity == AFFINITY_INTEGER
			       ? FIT_GROWS
			       : FIT_NARROW;
	}
}

enum version_order sqlite_target_type_version(enum type_kind kind,
					      const char *declared)
{
	enum affinity affinity = type_affinity(declared);

	switch (mark_order_of(kind, true)) {
	case MARK_ORDER_TIME:
		return VERSION_INSTANT;
	case MARK_ORDER_NUMBER:
		/* Under the others a number that a hand wrote may be a text. */
		return type_table[kind].storage == STORAGE_INTEGER &&
				       affinity == AFFINITY_INTEGER
			       ? VERSION_VALUE
			       : VERSION_NUMBER;
	default:
		return VERSION_TEXT;
	}
}

static int version_compare_bytes(const char *a, size_t n_a, const char *b,
				 size_t n_b)
{
	int c = memcmp(a, b, n_a < n_b ? n_a : n_b);

	return c ? c : (n_a > n_b) - (n_a < n_b);
}

static int version_compare_instants(const char *a, const char *b)
{
	int64_t x, y;

	if (!value_parse_instant(a, &x) || !value_parse_instant(b, &y))
		return 0;
	return (x > y) - (x < y);
}

/* NaN is the largest there is. False: no number. */
static bool version_read_number(struct decimal *out, bool *nan,
				const char *text, size_t n)
{
	*nan = n == 3 && !memcmp(text, "NaN", n);
	return *nan || decimal_parse(out, text, n);
}

static int version_compare_numbers(const char *a, size_t n_a, const char *b,
				   size_t n_b)
{
	struct decimal x, y;
	bool x_nan, y_nan;

	if (!version_read_number(&x, &x_nan, a, n_a) ||
	    !version_read_number(&y, &y_nan, b, n_b))
		return 0;
	return x_nan || y_nan ? x_nan - y_nan : decimal_compare(&x, &y);
}

bool sqlite_target_version_is_readable(enum version_order order,
				       const char *text)
{
	struct decimal number;
	int64_t us;
	bool nan;

	switch (order) {
	case VERSION_INSTANT:
		return value_parse_instant(text, &us);
	case VERSION_NUMBER:
		return version_read_number(&number, &nan, text, strlen(text));
	default:
		return true;
	}
}

/* A text that cannot be read is not ours, and gives way. */
bool sqlite_target_version_is_current(enum version_order order, const char *a,
				      size_t n_a, const char *b, size_t n_b)
{
	if (!b)
		return true;
	if (!a)
		return false;
	switch (order) {
	case VERSION_INSTANT:
		return version_compare_instants(a, b) >= 0;
	case VERSION_NUMBER:
		return version_compare_numbers(a, n_a, b, n_b) >= 0;
	default:
		return version_compare_bytes(a, n_a, b, n_b) >= 0;
	}
}
