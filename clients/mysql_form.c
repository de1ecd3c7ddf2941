#include "clients/mysql.h"

bool mysql_client_form_fits(enum mysql_client_form form, int type)
{
	switch (type) {
	case MYSQL_CLIENT_TYPE_TINY:
	case MYSQL_CLIENT_TYPE_SHORT:
	case MYSQL_CLIENT_TYPE_INT24:
	case MYSQL_CLIENT_TYPE_LONG:
	case MYSQL_CLIENT_TYPE_LONGLONG:
	case MYSQL_CLIENT_TYPE_YEAR:
		return form == MYSQL_CLIENT_INTEGER ||
		       form == MYSQL_CLIENT_UNSIGNED;
	case MYSQL_CLIENT_TYPE_FLOAT:
		return form == MYSQL_CLIENT_FLOAT;
	case MYSQL_CLIENT_TYPE_DOUBLE:
		return form == MYSQL_CLIENT_DOUBLE;
	case MYSQL_CLIENT_TYPE_DATE:
	case MYSQL_CLIENT_TYPE_TIME:
	case MYSQL_CLIENT_TYPE_DATETIME:
	case MYSQL_CLIENT_TYPE_TIMESTAMP:
		return form == MYSQL_CLIENT_TIME;
	case MYSQL_CLIENT_TYPE_NULL:
		return true;
	default:
		return form == MYSQL_CLIENT_BYTES;
	}
}
