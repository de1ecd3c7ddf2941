#include "destinations/sqlite/types.h"

#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/value.h"

enum affinity {
	AFFINITY_INTEGER,
	AFFINITY_TEXT,
	AFFINITY_NONE,
	AFFINITY_REAL,
	AFFINITY_NUMERIC
};

/* What a value is once it is stored. */
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

const char *type_declared(enum type_kind kind)
{
	return type_table[kind].declared;
}

enum mapping type_mapping(enum type_kind kind)
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

enum fit type_fit(enum type_kind kind, const char *declared, bool strict)
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

enum version_order type_version(enum type_kind kind, const char *declared)
{
	bool as_text = type_affinity(declared) == AFFINITY_TEXT;

	switch (kind) {
	case TYPE_DATE:
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return VERSION_INSTANT;
	case TYPE_UINT64:
	case TYPE_DECIMAL:
		return VERSION_NUMBER;
	default:
		break;
	}
	switch (type_table[kind].storage) {
	case STORAGE_INTEGER:
	case STORAGE_REAL:
		return as_text ? VERSION_NUMBER : VERSION_VALUE;
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

/* Sorts as text: our own form, with a year of four digits. */
static bool version_is_plain(const char *text, size_t n)
{
	if (n < 10 || text[0] == '-' || text[4] != '-' ||
	    (n > 10 && text[10] != ' ') || text[n - 1] == 'C')
		return false;
	return n <= 19 || text[n - 6] != '+' ||
	       memcmp(text + n - 6, "+00:00", 6) == 0;
}

/* What cannot be read was not written by us and gives way. */
static int version_compare_parsed(const char *a, const char *b)
{
	int64_t x, y;

	if (!value_parse_instant(a, &x) || !value_parse_instant(b, &y))
		return 0;
	return (x > y) - (x < y);
}

static int version_compare_instants(const char *a, size_t n_a, const char *b,
				    size_t n_b)
{
	if (version_is_plain(a, n_a) && version_is_plain(b, n_b))
		return version_compare_bytes(a, n_a, b, n_b);
	return version_compare_parsed(a, b);
}

/* -1 negative, 1 positive, -2 and 2 infinite, 3 NaN. Steps over the sign and
 * leading zeros, and leaves out zeros at the end of a fraction. */
static int version_number_sign(const char **text, size_t *n)
{
	int sign = 1;

	if (memchr(*text, '.', *n))
		while ((*text)[*n - 1] == '0' || (*text)[*n - 1] == '.')
			if ((*text)[--*n] == '.')
				break;
	if (*n && **text == '-') {
		sign = -1;
		(*text)++;
		(*n)--;
	}
	while (*n && **text == '0') {
		(*text)++;
		(*n)--;
	}
	if (*n && (**text == 'I' || **text == 'N'))
		return **text == 'N' ? 3 : 2 * sign;
	return sign;
}

static int version_compare_numbers(const char *a, size_t n_a, const char *b,
				   size_t n_b)
{
	int sign_a = version_number_sign(&a, &n_a);
	int sign_b = version_number_sign(&b, &n_b);
	size_t whole_a = strcspn(a, "."), whole_b = strcspn(b, ".");
	int c;

	/* Zero has no sign. */
	if (!n_a && !n_b)
		return 0;
	if (sign_a != sign_b)
		return sign_a - sign_b;
	if (sign_a < -1 || sign_a > 1)
		return 0;
	c = whole_a != whole_b ? (whole_a > whole_b ? 1 : -1)
			       : version_compare_bytes(a, n_a, b, n_b);
	return sign_a * c;
}

bool version_is_current(enum version_order order, const char *a, size_t n_a,
			const char *b, size_t n_b)
{
	if (!b)
		return true;
	if (!a)
		return false;
	switch (order) {
	case VERSION_INSTANT:
		return version_compare_instants(a, n_a, b, n_b) >= 0;
	case VERSION_ANY_INSTANT:
		return version_compare_parsed(a, b) >= 0;
	case VERSION_NUMBER:
		return version_compare_numbers(a, n_a, b, n_b) >= 0;
	default:
		return version_compare_bytes(a, n_a, b, n_b) >= 0;
	}
}
