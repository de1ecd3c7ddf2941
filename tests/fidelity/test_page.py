"""docs/types.md is what the table says."""

import page


def test_page_is_current():
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), (
        "docs/types.md is not what the table says; write it with "
        "tests/fidelity/page.py --write")
