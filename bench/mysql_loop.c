/*
 * The plain loop of the client library: mysql_loop HOST PORT USER DATABASE SQL,
 * the password in MYSQL_PWD. A prepared statement, binary, unbuffered; every
 * value is fetched, and its length added up. Prints what read_source prints.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_COLUMNS 64

static struct {
	union {
		long long integer;
		MYSQL_TIME time;
		char text[4096];
	} value;
	unsigned long length;
	char is_null;
} columns[MOST_COLUMNS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void bind_column(MYSQL_BIND *bind, unsigned i,
			enum enum_field_types type)
{
	switch (type) {
	case MYSQL_TYPE_TINY:
	case MYSQL_TYPE_SHORT:
	case MYSQL_TYPE_LONG:
	case MYSQL_TYPE_INT24:
	case MYSQL_TYPE_LONGLONG:
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		break;
	case MYSQL_TYPE_DATE:
	case MYSQL_TYPE_DATETIME:
	case MYSQL_TYPE_TIMESTAMP:
		bind->buffer_type = type;
		break;
	default:
		bind->buffer_type = MYSQL_TYPE_STRING;
	}
	bind->buffer = &columns[i].value;
	bind->buffer_length = sizeof(columns[i].value);
	bind->length = &columns[i].length;
	bind->is_null = (void *)&columns[i].is_null;
}

static int fail(MYSQL_STMT *stmt)
{
	fprintf(stderr, "%s\n", mysql_stmt_error(stmt));
	return 1;
}

int main(int argc, char **argv)
{
	MYSQL *db = mysql_init(NULL);
	MYSQL_BIND binds[MOST_COLUMNS];
	MYSQL_STMT *stmt;
	MYSQL_RES *meta;
	struct rusage used;
	unsigned long long rows = 0, bytes = 0;
	unsigned n;
	double begun;
	int rc;

	if (argc != 6 ||
	    !mysql_real_connect(db, argv[1], argv[3], getenv("MYSQL_PWD"),
				argv[4], (unsigned)strtoul(argv[2], NULL, 10),
				NULL, 0)) {
		fprintf(stderr, "mysql_loop: %s\n", mysql_error(db));
		return 2;
	}
	stmt = mysql_stmt_init(db);
	if (mysql_stmt_prepare(stmt, argv[5], strlen(argv[5])))
		return fail(stmt);
	memset(binds, 0, sizeof(binds));
	meta = mysql_stmt_result_metadata(stmt);
	n = mysql_num_fields(meta);
	for (unsigned i = 0; i < n && i < MOST_COLUMNS; i++)
		bind_column(&binds[i], i,
			    mysql_fetch_field_direct(meta, i)->type);
	begun = now();
	if (mysql_stmt_execute(stmt) || mysql_stmt_bind_result(stmt, binds))
		return fail(stmt);
	while ((rc = mysql_stmt_fetch(stmt)) == 0) {
		for (unsigned i = 0; i < n; i++)
			bytes += columns[i].length;
		rows++;
	}
	if (rc != MYSQL_NO_DATA || mysql_stmt_errno(stmt))
		return fail(stmt);
	getrusage(RUSAGE_SELF, &used);
	printf("%llu %.3f %.3f\n", rows + (bytes == 0), now() - begun,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) /
			       1e6);
	return 0;
}
