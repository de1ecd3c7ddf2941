# Where tools/setup keeps what it fetches; sourced by tools, tests/run, demo.
cache=${XDG_CACHE_HOME:-$HOME/.cache}
duckdb_version=1.5.6
duckdb_dir=$cache/tidemark/duckdb-$duckdb_version
venv_dir=$cache/tidemark-tests/venv
venv_python=$venv_dir/bin/python
mysql_dir=$cache/tidemark-tests/mysql
docs_venv=$cache/tidemark-tests/docs-venv
airflow_venv=$cache/tidemark-tests/airflow-venv
clean_dir=$cache/tidemark-tests/clean-bookworm
layer_dir=$cache/tidemark-tests/layer-bookworm
kubernetes_dir=$cache/tidemark-tests/kubernetes

# The DuckDB option for meson setup: a system DuckDB comes first.
duckdb_option() {
	if pkg-config --exists duckdb 2>/dev/null; then
		return
	fi
	printf '%s\n' "-Dduckdb_root=$duckdb_dir"
}

# A Go that fetches the release that a module asks for: since 1.21. Else the one that
# tools/setup has put aside.
go_program() {
	local version
	version=$(go env GOVERSION 2>/dev/null) || version=
	case $version in
	'' | go1.? | go1.?.* | go1.1? | go1.1?.* | go1.20*)
		printf '%s\n' "$kubernetes_dir/go/go/bin/go"
		;;
	*) command -v go ;;
	esac
}
