"""The tree in which packages are tried has nothing of the machine's own."""


def test_it_has_no_compiler_and_none_of_our_libraries(clean_tree):
    for name in ("gcc", "cc", "make", "pg_config", "tidemark"):
        assert clean_tree.run("which", name, check=False).returncode, name
    found = clean_tree.run("sh", "-c", "ldconfig -p; ls /usr/include").stdout
    for name in ("libpq", "libcurl", "libmariadb", "jansson", "duckdb"):
        assert name not in found, found


def test_what_one_test_writes_no_other_sees(clean_tree, make_clean_tree):
    clean_tree.write("/root/here", "ours")
    assert clean_tree.run("cat", "/root/here").stdout == "ours"
    assert make_clean_tree().run("ls", "/root").stdout == ""
