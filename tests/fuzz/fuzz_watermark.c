/*
 * Marks come from stores, destinations and people's hands: whatever the text,
 * a mark is refused or printed and read back as the same mark.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/watermark.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct error err = ERROR_INIT;
	struct watermark mark, again;
	char *printed;

	if (watermark_from_text(&mark, text, &err)) {
		if (err.code != ERROR_DATA || !*err.message)
			abort();
		free(text);
		return 0;
	}
	printed = watermark_to_text(&mark);
	if (watermark_from_text(&again, printed, NULL) ||
	    !watermark_equal(&mark, &again))
		abort();
	watermark_release(&again);
	watermark_release(&mark);
	free(printed);
	free(text);
	return 0;
}
