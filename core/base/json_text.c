#include "core/base/json_text.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"

json_t *json_text_value(const char *text)
{
	json_t *json =
		text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
		     : NULL;

	return json ? json : json_null();
}

char *json_text_dump(const json_t *json, size_t flags)
{
	char *dumped = json_dumps(json, flags);
	struct strbuf text = STRBUF_INIT;

	if (!dumped)
		return NULL;
	utf8_add_json(&text, dumped);
	free(dumped);
	return strbuf_detach(&text);
}

json_t *json_text_time(int64_t us)
{
	char text[CLOCK_TEXT_SIZE];

	if (!us)
		return json_null();
	clock_format_utc(us, text);
	return json_string(text);
}
