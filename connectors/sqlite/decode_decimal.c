#include <stdlib.h>
#include <string.h>

#include "connectors/sqlite/decode.h"
#include "core/base/row_values.h"
#include "core/data/value.h"

/* "[-]digits[.digits]", or one of the words that numeric columns of other
 * engines know. */
static bool decimal_is_plain(const char *text, size_t n)
{
	const char *p = text + (n && *text == '-');
	size_t whole = strspn(p, "0123456789"), fraction = 0;

	if (!strcmp(text, "NaN") || !strcmp(p, "Infinity"))
		return true;
	if (p[whole] == '.')
		fraction = strspn(p + whole + 1, "0123456789");
	return whole && (p[whole] == '.' ? fraction && !p[whole + 1 + fraction]
					 : !p[whole]);
}

/* 1.5e-07 as 0.00000015: the shortest digits that mean this double. */
static void decimal_from_double(struct strbuf *out, double x)
{
	struct strbuf sb = STRBUF_INIT;
	const char *e, *p;
	long exponent;
	size_t digits, whole;

	value_print_float64(&sb, x);
	p = sb.data;
	e = strchr(p, 'e');
	if (!e) {
		strbuf_addstr(out, p);
		strbuf_release(&sb);
		return;
	}
	if (*p == '-')
		strbuf_addch(out, *p++);
	exponent = strtol(e + 1, NULL, 10);
	whole = strcspn(p, ".e");
	digits = (size_t)(e - p) - (p[whole] == '.');
	if (exponent < 0) {
		strbuf_addstr(out, "0.");
		for (long i = 1; i < -exponent; i++)
			strbuf_addch(out, '0');
	}
	for (const char *at = p; at < e; at++)
		if (*at != '.')
			strbuf_addch(out, *at);
	for (long i = (long)digits; exponent >= 0 && i <= exponent; i++)
		strbuf_addch(out, '0');
	strbuf_release(&sb);
}

/* Has it more digits than DECIMAL(precision, scale) has room for? */
static bool decimal_fits(const char *text, const struct type *type)
{
	const char *p = text + (*text == '-');
	size_t whole, fraction;

	if (type->precision <= 0 || *p == 'N' || *p == 'I')
		return true;
	p += strspn(p, "0");
	whole = strcspn(p, ".");
	fraction = p[whole] ? strlen(p + whole + 1) : 0;
	while (fraction && p[whole + fraction] == '0')
		fraction--;
	return fraction <= (size_t)type->scale &&
	       whole <= (size_t)(type->precision - type->scale);
}

int sqlite_source_decode_decimal(struct vector *v, size_t row,
				 struct sqlite_statement *st, int column,
				 const struct type *type, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	bool ok = true;
	size_t n;
	int rc;

	switch (sqlite_class_of(st, column)) {
	case SQLITE_CLASS_INTEGER:
		strbuf_addf(&sb, "%lld", (long long)sqlite_i64(st, column));
		break;
	case SQLITE_CLASS_REAL:
		decimal_from_double(&sb, sqlite_f64(st, column));
		break;
	case SQLITE_CLASS_TEXT:
		strbuf_addstr(&sb, sqlite_bytes(st, column, &n));
		ok = n == sb.len && decimal_is_plain(sb.data, n);
		break;
	default:
		ok = false;
	}
	if (ok && decimal_fits(sb.data, type))
		rc = vector_set_bytes(v, row, sb.data, sb.len, err);
	else
		rc = error_set(err, ERROR_DATA,
			       "'%.60s' is no %s: correct it, or say what is "
			       "meant in source.expressions, as in "
			       "printf('%%.2f', ...)",
			       row_value(sb.data), type->native);
	strbuf_release(&sb);
	return rc;
}
