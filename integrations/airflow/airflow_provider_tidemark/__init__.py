"""Tidemark in Apache Airflow: runs, comparisons, backfills as tasks."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"  # Tidemark's own

PACKAGE = "airflow_provider_tidemark"


def get_provider_info() -> dict[str, Any]:
    """The facts that Airflow asks each provider for."""
    # Imported by Airflow at each start, so nothing of Airflow is imported here.
    return {
        "package-name": "airflow-provider-tidemark",
        "name": "Tidemark",
        "description": "Keeps warehouse tables equal to database tables, "
                       "and proves it.",
        "versions": [__version__],
        "integrations": [{
            "integration-name": "Tidemark",
            "tags": ["software"],
        }],
        "operators": [{
            "integration-name": "Tidemark",
            "python-modules": [f"{PACKAGE}.operators", f"{PACKAGE}.backfill"],
        }],
        "hooks": [{
            "integration-name": "Tidemark",
            "python-modules": [f"{PACKAGE}.hook"],
        }],
        "triggers": [{
            "integration-name": "Tidemark",
            "python-modules": [f"{PACKAGE}.trigger"],
        }],
        "connection-types": [{
            "connection-type": "tidemark",
            "hook-class-name": f"{PACKAGE}.hook.TidemarkHook",
            "hook-name": "Tidemark",
            "ui-field-behaviour": _ui_field_behaviour(),
            "conn-fields": _connection_fields(),
        }],
    }


def _ui_field_behaviour() -> dict[str, Any]:
    """The standard fields of the connection's form."""
    return {
        "hidden-fields": ["host", "port", "schema", "login"],
        "relabeling": {"password": "Password ($TIDEMARK_PASSWORD)"},
        "placeholders": {
            "extra": '{"env": {"SHOP_PASSWORD": "...", '
                     '"WAREHOUSE_PASSWORD": "..."}}',
        },
    }


def _connection_fields() -> dict[str, Any]:
    """The form's own fields, which are kept in the connection's extra."""
    return {
        "config": {
            "label": "Config file",
            "schema": {"type": ["string", "null"]},
            "description": "The path of tidemark.yaml on the workers.",
        },
        "directory": {
            "label": "Directory",
            "schema": {"type": ["string", "null"]},
            "description": "Run there. Default: the config's directory.",
        },
        "binary": {
            "label": "Program",
            "schema": {"type": ["string", "null"]},
            "description": "The path of tidemark. Default: the wheel's, "
                           "then $PATH.",
        },
    }
