/* Files that a package such as the wheel carries beside the program. */
#ifndef TIDEMARK_CORE_BASE_BUNDLE_H
#define TIDEMARK_CORE_BASE_BUNDLE_H

/* Directory of the running program, without the last slash; NULL: not known,
 * as where /proc is not mounted. Freed by the caller. */
char *bundle_directory(void);
/* The path lib/NAME beside the program; NULL: nothing is there. Freed by the
 * caller. */
char *bundle_path(const char *name);

#endif
