# Where tools/setup keeps what it fetches; sourced by tools, tests/run, demo.
cache=${XDG_CACHE_HOME:-$HOME/.cache}
duckdb_version=1.5.6
duckdb_dir=$cache/tidemark/duckdb-$duckdb_version
venv_dir=$cache/tidemark-tests/venv
venv_python=$venv_dir/bin/python
mysql_dir=$cache/tidemark-tests/mysql
docs_venv=$cache/tidemark-tests/docs-venv
clean_dir=$cache/tidemark-tests/clean-bookworm
layer_dir=$cache/tidemark-tests/layer-bookworm

# The DuckDB option for meson setup: a system DuckDB comes first.
duckdb_option() {
	if pkg-config --exists duckdb 2>/dev/null; then
		return
	fi
	printf '%s\n' "-Dduckdb_root=$duckdb_dir"
}
