#include "core/base/json_text.h"

#include "core/base/clock.h"

json_t *json_text_value(const char *text)
{
	json_t *json =
		text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
		     : NULL;

	return json ? json : json_null();
}

json_t *json_text_time(int64_t us)
{
	char text[CLOCK_TEXT_SIZE];

	if (!us)
		return json_null();
	clock_format_utc(us, text);
	return json_string(text);
}
