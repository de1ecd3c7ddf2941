"""The pages name no command, flag, key, value, metric or code that Tidemark does
not have."""

import pytest

import doc_names

# (text, the finding)
PLANTED = [
    ("```sh\ntidemark rn orders\n```", "there is no command rn"),
    ("```sh\nx=$(tidemark -q run orders \\\n    --verifi)\n```",
     "tidemark run has no --verifi"),
    ("```sh\ntidemark status --repair\n```", "tidemark status has no --repair"),
    ("```sh\nsudo -u tidemark tidemark chek\n```", "there is no command chek"),
    ("Use `run --repair`.", "tidemark run has no --repair"),
    ("Use `tidemark verify --show-valeus`.", "verify has no --show-valeus"),
    ("Use `--show-valeus`.", "no command has --show-valeus"),
    ("```yaml\npipelines:\n  orders:\n    load: { mod: append }\n```",
     "a key or a value that no config has"),
    ("```yaml\npipelines:\n  orders:\n    load: { mode: merge }\n```",
     "a key or a value that no config has"),
    ("```yaml\nload: { streems: 4 }\n```", "a key or a value"),
    ("```yaml\nserve:\n  lissten: off\n```", "a key or a value"),
    ("```yaml\nload: { streams: [}\n```", "no YAML"),
    ("Set `load.streems`.", "there is no key load.streems"),
    ("Set `tail: hod`.", "no such value of tail"),
    ("Set `tial: hold`.", "there is no key tial"),
    ("See `mark-notatoin`.", "nothing is called mark-notatoin"),
    ("See `tidemark_watermark_leg_seconds`.", "nothing is called tidemark_"),
    ("Set `TIDEMARK_CONFIGS`.", "nothing is called TIDEMARK_CONFIGS"),
]
RIGHT = """Use `run --verify`, `tidemark -c FILE verify --sample 1%`, `--jobs 8`,
`load.mode`, `tail: hold`, `settle: off`, `mark-notation`, `TIDEMARK_CONFIG`,
`tidemark_runs_total` and `_tidemark_watermark`.

```sh
tidemark verify 'a' \\
    --repair | grep -v x --colour   # tidemark knows
sudo apt-get purge tidemark tidemark-duckdb
sudo -u tidemark tidemark -c a.yaml check
```

```yaml
load: { streams: auto }
```

```yaml
  orders:
    source: { connection: shop, table: public.orders }
```
"""


@pytest.fixture(scope="module")
def names(tidemark_binary):
    return doc_names.Names(tidemark_binary)


def test_pages(names):
    pages = doc_names.pages()
    assert len(pages) > 25
    wrong = [f"{page}:{each}" for page in pages
             for each in doc_names.wrong_names(page, names)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text, finding", PLANTED)
def test_what_is_wrong_is_found(names, text, finding):
    found = doc_names.Page(f"# A page\n\n{text}\n", names).wrong
    assert len(found) == 1 and finding in found[0], found


def test_what_is_right_is_left(names):
    assert not doc_names.Page(RIGHT, names).wrong
