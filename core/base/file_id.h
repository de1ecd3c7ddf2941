/*
 * The identity of the file that a path leads to, however it is spelled. Nothing
 * is opened.
 */
#ifndef TIDEMARK_CORE_BASE_FILE_ID_H
#define TIDEMARK_CORE_BASE_FILE_ID_H

/* The server_code of a STATE error: another process has the file open or
 * locked, and may give it back. */
#define FILE_BUSY "file-busy"

/* "DEVICE:INODE", the same for every link to the file. For a file that does not
 * exist yet: its directory's, and its name behind them. Caller frees. */
char *file_id(const char *path);
/* The path from the root, without links, as far as it exists. Caller frees. */
char *file_path(const char *path);

#endif
