#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/urls.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/base/stop.h"
#include "core/plugin/registry.h"

/* Tables need to know the width of characters; numbers stay those of C. */
static void main_locale(void)
{
	const char *name = setlocale(LC_CTYPE, "");

	if (!name || !strcmp(name, "C") || !strcmp(name, "POSIX"))
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* One that is closed would be given to the next file or pipe that is opened,
 * and what is printed or logged go there. Opened so that using it fails. */
static void main_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* A core file would hold passwords and rows. If cores go to a program ("|" in
 * core_pattern), the kernel ignores a limit of 0. A limit of 1 is its own sign
 * for none, and too little for a file. */
static void main_no_core(void)
{
	const char *wanted = getenv("TIDEMARK_CORE_DUMPS");
	const struct rlimit none = { 1, 1 };

	if (!wanted || strcmp(wanted, "1") != 0)
		setrlimit(RLIMIT_CORE, &none);
}

static int main_log(const struct arguments *args, struct error *err)
{
	const char *name = arguments_text(args, "log-format");
	enum log_format format = LOG_TEXT;

	if (name && !log_format_parse(name, &format))
		return error_set(err, ERROR_CONFIG,
				 "--log-format takes text, json or logfmt, not "
				 "\"%s\"",
				 name);
	log_set_format(format);
	if (arguments_has(args, "verbose") && arguments_has(args, "quiet"))
		return error_set(err, ERROR_CONFIG,
				 "-v and -q exclude each other");
	if (arguments_has(args, "verbose"))
		log_set_level(LOG_DEBUG);
	if (arguments_has(args, "quiet"))
		log_set_level(LOG_ERROR);
	return 0;
}

static int main_dispatch(const struct arguments *args, struct error *err)
{
	if (arguments_has(args, "version"))
		return command_version.run(args, err);
	if (arguments_has(args, "help") && args->command)
		help_command(args->syntax, args->command);
	else if (arguments_has(args, "help"))
		help_overview(args->syntax);
	else if (args->command)
		return args->command->run(args, err);
	else
		return error_set(err, ERROR_CONFIG,
				 "no command given; \"tidemark help\" lists "
				 "them");
	return 0;
}

static int main_run(int argc, char **argv, struct error *err)
{
	struct arguments args;
	int code = arguments_parse(&args, &cli_syntax, argc, argv, err);

	/* Also an error in what follows is logged as the flags before it say;
	 * the first error wins. */
	code = code ? code : main_log(&args, err);
	if (code)
		main_log(&args, NULL);
	if (!code)
		code = failpoint_init(err);
	if (!code)
		code = main_dispatch(&args, err);
	arguments_release(&args);
	return code;
}

/* A command that has reported its failure itself leaves `err` clear. */
static void main_report(const struct error *err)
{
	const struct log_event event = { "command_failed",
					 error_code_name(err->code), NULL };

	if (!err->code)
		return;
	if (err->code == ERROR_STOPPED)
		log_event(LOG_WARN, &event, "%s", err->message);
	else if (*err->server_code)
		log_event(LOG_ERROR, &event, "%s [%s]", err->message,
			  err->server_code);
	else
		log_event(LOG_ERROR, &event, "%s", err->message);
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT, output_err = ERROR_INIT;
	char **words = urls_take(argc, argv);
	int code;

	main_descriptors();
	main_no_core();
	alloc_install();
	/* State and config files may hold what others should not read. */
	umask(077);
	main_locale();
	stop_install_handlers();
	registry_serve_schemes();
	code = main_run(argc, words, &err);
	pool_end();
	main_report(&err);
	if (output_finish(&output_err)) {
		main_report(&output_err);
		code = code ? code : -(int)output_err.code;
	}
	urls_free(argc, words, argv);
	return error_exit_status((enum error_code) - code);
}
