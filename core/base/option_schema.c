#include <string.h>

#include "core/base/option.h"
#include "core/base/units.h"

/* A text that is only known once it is expanded. */
#define OPTION_REFERENCE_PATTERN "\\$\\{"

static json_t *option_pattern(const char *pattern)
{
	return json_pack("{ssss}", "type", "string", "pattern", pattern);
}

static json_t *option_integer(const struct option *option)
{
	json_t *schema = json_pack("{ss}", "type", "integer");

	json_object_set_new(schema, "minimum", json_integer(option->min));
	if (option->max)
		json_object_set_new(schema, "maximum",
				    json_integer(option->max));
	return schema;
}

static json_t *option_either(json_t *a, json_t *b)
{
	return json_pack("{s[oo]}", "anyOf", a, b);
}

static json_t *option_choices_schema(const struct option *option)
{
	const struct option_choice *c = option->choices;
	json_t *names = json_array();

	/* Bare, YAML and JSON would take some of these words for something else
	 * than a name. */
	for (; c && c->name; c++) {
		json_array_append_new(names, json_string(c->name));
		if (!strcmp(c->name, "null"))
			json_array_append_new(names, json_null());
		if (!strcmp(c->name, "true") || !strcmp(c->name, "false"))
			json_array_append_new(names,
					      json_boolean(c->value != 0));
	}
	return json_pack("{so}", "enum", names);
}

static json_t *option_list_schema(const struct option *option)
{
	json_t *list = json_pack("{sss{ss}sb}", "type", "array", "items",
				 "type", "string", "uniqueItems",
				 !(option->flags & OPTION_REPEATS));

	if (option->flags & OPTION_OR_TEXT)
		return option_either(json_pack("{ss}", "type", "string"), list);
	return list;
}

static json_t *option_scalar_schema(const struct option *option)
{
	switch (option->type) {
	case OPTION_COUNT:
		return option_either(
			option_integer(option),
			option_pattern("^[0-9_]+$|" OPTION_REFERENCE_PATTERN));
	case OPTION_SIZE:
		return option_either(
			option_integer(option),
			option_pattern("^[0-9]+([KMGT]i?)?B?$"
				       "|" OPTION_REFERENCE_PATTERN));
	case OPTION_DURATION:
		return option_either(
			json_pack("{si}", "const", 0),
			option_pattern("^(([0-9]+(d|h|m|s|ms|us))+"
				       "|0)$|" OPTION_REFERENCE_PATTERN));
	case OPTION_CHOICE:
		return option_choices_schema(option);
	case OPTION_LIST:
		return option_list_schema(option);
	default:
		if (option->flags & OPTION_OR_COUNT)
			return json_pack("{s[ss]}", "type", "string",
					 "integer");
		if (option->flags & OPTION_OR_NUMBER)
			return json_pack("{s[ss]}", "type", "string", "number");
		return json_pack("{ss}", "type", "string");
	}
}

static json_t *option_schema(const struct option *option, unsigned flags);

/* A map with names of the user's own. */
static json_t *option_map_schema(const struct option *option, unsigned flags)
{
	struct option element = { .name = option->name,
				  .flags = option->flags & OPTION_OR_NUMBER,
				  .type = option->table ? OPTION_TABLE
							: option->element,
				  .table = option->table,
				  .shorthand = option->shorthand };

	return json_pack("{ssso}", "type", "object", "additionalProperties",
			 option_schema(&element, flags));
}

static json_t *option_shape(const struct option *option, unsigned flags)
{
	json_t *table;

	flags |= option->flags & OPTION_PARTIAL;
	if (option->type == OPTION_MAP)
		return option_map_schema(option, flags);
	if (!option->table)
		return option_scalar_schema(option);
	table = option_json_schema(option->table, flags);
	if (option->type == OPTION_LIST)
		return json_pack("{ssso}", "type", "array", "items", table);
	if (option->type == OPTION_CHOICE)
		return option_either(option_choices_schema(option), table);
	if (option->shorthand)
		return option_either(json_pack("{ss}", "type", "string"),
				     table);
	return table;
}

static json_t *option_default(const struct option *option)
{
	int64_t n;

	if (!option->default_text)
		return NULL;
	if (option->type == OPTION_LIST)
		return json_array();
	if (option->type == OPTION_MAP)
		return json_object();
	if (option->type == OPTION_COUNT &&
	    units_parse_count(option->default_text, &n))
		return json_integer(n);
	return json_string(option->default_text);
}

static json_t *option_schema(const struct option *option, unsigned flags)
{
	json_t *schema = option_shape(option, flags);
	struct strbuf doc = STRBUF_INIT;
	json_t *standard = option_default(option);

	if (option->doc)
		strbuf_addstr(&doc, option->doc);
	if (option->flags & OPTION_UNSUPPORTED)
		strbuf_addstr(&doc, " Not supported yet.");
	if (doc.len)
		json_object_set_new(schema, "description",
				    json_string(doc.data));
	if (standard)
		json_object_set_new(schema, "default", standard);
	strbuf_release(&doc);
	return schema;
}

json_t *option_json_schema(const struct option *table, unsigned flags)
{
	json_t *properties = json_object(), *required = json_array();
	json_t *schema = json_pack("{ss}", "type", "object");

	for (table = option_row(table); table; table = option_row(table + 1)) {
		json_object_set_new(properties, table->name,
				    option_schema(table, flags));
		if (table->flags & OPTION_REQUIRED && !table->unless &&
		    !(flags & OPTION_PARTIAL))
			json_array_append_new(required,
					      json_string(table->name));
	}
	json_object_set_new(schema, "properties", properties);
	if (json_array_size(required))
		json_object_set(schema, "required", required);
	json_decref(required);
	json_object_set_new(schema, "additionalProperties", json_false());
	return schema;
}
