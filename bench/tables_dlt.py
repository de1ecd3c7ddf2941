"""A run of dlt over the tables of bench/tables.py: SOURCE ENGINE TARGET COUNT
DIRECTORY. Needs dlt[postgres,duckdb] and sqlalchemy."""

import sys

import dlt
from dlt.sources.sql_database import sql_table


def main():
    source, engine, target, count, directory = sys.argv[1:]
    kinds = {"postgres": dlt.destinations.postgres,
             "duckdb": dlt.destinations.duckdb}
    pipeline = dlt.pipeline("many", pipelines_dir=directory,
                            destination=kinds[engine](target),
                            dataset_name="copied")
    tables = [sql_table(credentials=source, table=f"t{i:04}", schema="public",
                        primary_key="id", write_disposition="merge",
                        incremental=dlt.sources.incremental("updated_at"))
              for i in range(int(count))]
    pipeline.run(tables)


if __name__ == "__main__":
    main()
