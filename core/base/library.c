#include "core/base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

static int library_missing(const struct library *l, const char *reason,
			   struct error *err)
{
	error_set(err, ERROR_CONFIG, "the library %s cannot be loaded: %s",
		  l->soname, reason);
	error_hint(err, "Install it; Debian's package is %s", l->package);
	return -ERROR_CONFIG;
}

static int library_fill(struct library *l, void *handle, struct error *err)
{
	for (size_t i = 0; i < l->n; i++) {
		l->table[i] = dlsym(handle, l->names[i]);
		if (!l->table[i])
			return error_set(err, ERROR_CONFIG,
					 "the library %s is not the one that "
					 "this program was built for: it has "
					 "no function %s. Install the package "
					 "%s as new as at the build",
					 l->soname, l->names[i], l->package);
	}
	if (mprotect(l->table, l->bytes, PROT_READ))
		return error_set(err, ERROR_BUG,
				 "cannot protect the addresses of %s: %s",
				 l->soname, strerror(errno));
	return 0;
}

/* The library's own plug-ins look for its functions among the program's, so
 * they are visible to all. */
static int library_open(struct library *l, struct error *err)
{
	void *handle = dlopen(l->soname, RTLD_LAZY | RTLD_GLOBAL);
	int rc = handle ? library_fill(l, handle, err)
			: library_missing(l, dlerror(), err);

	if (rc && handle)
		dlclose(handle);
	return rc;
}

int library_load(struct library *l, struct error *err)
{
	int rc = 0;

	if (!l->soname || atomic_load(&l->ready))
		return 0;
	pthread_mutex_lock(&library_lock);
	if (!atomic_load(&l->ready)) {
		rc = library_open(l, err);
		atomic_store(&l->ready, !rc);
	}
	pthread_mutex_unlock(&library_lock);
	return rc;
}
