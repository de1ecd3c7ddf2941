#include "core/sync/verify/fingerprints.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define FINGERPRINTS_FIRST 1024

void fingerprints_release(struct fingerprints *f)
{
	free(f->slots);
	memset(f, 0, sizeof(*f));
}

/* 0 says that a slot is free: the row of that hash shares another's. */
static uint64_t fingerprint_of(uint64_t hash)
{
	return hash ? hash : 1;
}

/* Where it is, or would be. */
static size_t fingerprints_slot(const struct fingerprints *f, uint64_t hash)
{
	size_t at = hash & (f->n_slots - 1);

	while (f->slots[at] && f->slots[at] != hash)
		at = (at + 1) & (f->n_slots - 1);
	return at;
}

static void fingerprints_grow(struct fingerprints *f)
{
	struct fingerprints more = { .n = f->n };

	more.n_slots = f->n_slots ? f->n_slots * 2 : FINGERPRINTS_FIRST;
	more.slots = xcalloc(more.n_slots, sizeof(*more.slots));
	for (size_t i = 0; i < f->n_slots; i++)
		if (f->slots[i])
			more.slots[fingerprints_slot(&more, f->slots[i])] =
				f->slots[i];
	free(f->slots);
	*f = more;
}

bool fingerprints_has(const struct fingerprints *f, uint64_t hash)
{
	return f->n && f->slots[fingerprints_slot(f, fingerprint_of(hash))];
}

bool fingerprints_add(struct fingerprints *f, uint64_t hash, size_t most)
{
	size_t at;

	hash = fingerprint_of(hash);
	if (fingerprints_has(f, hash))
		return true;
	if (f->n >= most)
		return false;
	if (f->n * 4 >= f->n_slots * 3)
		fingerprints_grow(f);
	at = fingerprints_slot(f, hash);
	f->slots[at] = hash;
	f->n++;
	return true;
}
