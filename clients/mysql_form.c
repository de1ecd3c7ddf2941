#include "clients/mysql.h"

bool mydb_form_fits(enum mydb_form form, int type)
{
	switch (type) {
	case MYDB_TYPE_TINY:
	case MYDB_TYPE_SHORT:
	case MYDB_TYPE_INT24:
	case MYDB_TYPE_LONG:
	case MYDB_TYPE_LONGLONG:
	case MYDB_TYPE_YEAR:
		return form == MYDB_INTEGER || form == MYDB_UNSIGNED;
	case MYDB_TYPE_FLOAT:
		return form == MYDB_FLOAT;
	case MYDB_TYPE_DOUBLE:
		return form == MYDB_DOUBLE;
	case MYDB_TYPE_DATE:
	case MYDB_TYPE_TIME:
	case MYDB_TYPE_DATETIME:
	case MYDB_TYPE_TIMESTAMP:
		return form == MYDB_TIME;
	case MYDB_TYPE_NULL:
		return true;
	default:
		return form == MYDB_BYTES;
	}
}
