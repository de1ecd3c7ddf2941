#include "core/base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/library.h"

/* Steps for one text. A reasonable pattern takes some hundreds. */
#define PATTERN_STEPS	    1000000
#define PATTERN_STACK_LEAST ((size_t)32 << 10)
#define PATTERN_STACK_MOST  ((size_t)1 << 20)
#define PATTERN_MESSAGE	    128

/* Its libraries' functions. */
extern struct library library_pcre2;

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

static void pattern_say(int code, char out[PATTERN_MESSAGE])
{
	out[0] = '\0';
	pcre2_get_error_message(code, (PCRE2_UCHAR *)out, PATTERN_MESSAGE);
}

int pattern_new(struct pattern **out, const char *text, struct error *err)
{
	static const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
					PCRE2_DOLLAR_ENDONLY |
					PCRE2_NEVER_BACKSLASH_C;
	char message[PATTERN_MESSAGE];
	struct pattern *p;
	pcre2_code *code;
	PCRE2_SIZE at;
	int wrong, rc = library_load(&library_pcre2, err);

	if (rc)
		return rc;
	code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options,
			     &wrong, &at, NULL);
	if (!code) {
		pattern_say(wrong, message);
		return error_set(err, ERROR_CONFIG,
				 "\"%.200s\" is no regular expression: %s (at "
				 "character %zu)",
				 text, message, (size_t)at + 1);
	}
	/* Where code cannot be made at run time it is interpreted. */
	pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	p = xcalloc(1, sizeof(*p));
	p->code = code;
	p->data = pcre2_match_data_create_from_pattern(code, NULL);
	p->context = pcre2_match_context_create(NULL);
	p->stack = pcre2_jit_stack_create(PATTERN_STACK_LEAST,
					  PATTERN_STACK_MOST, NULL);
	if (!p->data || !p->context) {
		pattern_free(p);
		return error_set(err, ERROR_BUG, "out of memory for a pattern");
	}
	pcre2_set_match_limit(p->context, PATTERN_STEPS);
	pcre2_jit_stack_assign(p->context, NULL, p->stack);
	*out = p;
	return 0;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_jit_stack_free(p->stack);
	pcre2_match_context_free(p->context);
	pcre2_match_data_free(p->data);
	pcre2_code_free(p->code);
	free(p);
}

int pattern_match(struct pattern *p, const char *text, size_t n, bool *matches,
		  struct error *err)
{
	char message[PATTERN_MESSAGE];
	int rc = pcre2_match(p->code, (PCRE2_SPTR)text, n, 0, 0, p->data,
			     p->context);

	*matches = rc >= 0;
	if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
		return 0;
	pattern_say(rc, message);
	return error_set(err, ERROR_DATA, "the pattern gave up: %s", message);
}
