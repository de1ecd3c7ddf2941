"""Make a site of pages that a forge shows as well: what mkdocs does not do itself.

The pages stay plain Markdown with links between files of the repository. Here
README.md becomes the front page, and CONTRIBUTING.md and its like become pages.
Each file or folder outside of docs/ that a page links to becomes a page too, so
that the site is whole without a network.
"""
import posixpath
import re
import subprocess
from pathlib import Path

from markdown.extensions import Extension
from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ["iframe-worker.js", "site.css"]
PAGES = {"README.md": "index.md"} | {
    name: name for name in ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]} | {
    "bench/RESULTS.md": "RESULTS.md"}
LINK = re.compile(r"(\[([^\]\[]*)\]\(|\]\()([^)\s]+)\)")
FENCE = re.compile(r"(^ *(?:```|~~~).*?^ *(?:```|~~~) *$)", re.M | re.S)
LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".c": "c",
             ".h": "c", ".sh": "sh", ".service": "ini", ".build": "python"}

# The pages of the site, by their paths in the repository.
sources = {}


class Indent(Extension):
    """A list in a list is set in by two, as forges have it."""

    def extendMarkdown(self, md):  # pylint: disable=invalid-name
        md.tab_length = 2
        md.build_parser()


def on_config(config):
    config["markdown_extensions"].insert(0, Indent())
    config["nav"] = expanded(config["nav"], named(config["nav"]))
    return config


def named(nav):
    """The pages that the navigation names one by one."""
    if isinstance(nav, list):
        return {name for item in nav for name in named(item)}
    if isinstance(nav, dict):
        return {name for item in nav.values() for name in named(item)}
    return {nav}


def expanded(nav, known):
    """The navigation with the other pages of a folder instead of FOLDER/*."""
    if isinstance(nav, dict):
        return {title: expanded(item, known) for title, item in nav.items()}
    if not isinstance(nav, list):
        return nav
    items = []
    for item in nav:
        if isinstance(item, str) and item.endswith("/*"):
            items += [name for name in pages_in(item[:-2]) if name not in known]
        else:
            items.append(expanded(item, known))
    return items


def pages_in(folder):
    """The pages of a folder of docs/, in the order of its README.md."""
    readme = ROOT / "docs" / folder / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else ""
    names = sorted(path.name for path in (ROOT / "docs" / folder).glob("*.md"))
    places = {name: text.find(f"({name}") for name in names}
    names.sort(key=lambda name: (places[name] < 0 and name != "README.md",
                                 places[name]))
    return [f"{folder}/{name}" for name in names]


def on_files(files, config):
    sources.clear()
    for file in files.documentation_pages():
        sources[f"docs/{file.src_uri}"] = file.src_uri
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(
            ROOT / path).read_text("utf-8")))
        sources[path] = uri
    for name in ASSETS:
        files.append(File.generated(config, f"assets/{name}", content=(
            ROOT / "tools/site" / name).read_text("utf-8")))
    for path in sorted(linked_files()):
        uri = f"files/{path}/index.md" if (ROOT / path).is_dir() \
            else f"files/{path}.md"
        file = File.generated(config, uri, content=shown(path))
        file.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(file)
        sources[path] = uri
    return files


def linked_files():
    """Files and folders that pages link to and that are not pages."""
    found, looked_at = set(), set()
    for page in list(sources):
        for target in targets(page, (ROOT / page).read_text("utf-8")):
            found |= {target} - set(sources) if (ROOT / target).exists() \
                else set()
    waiting = list(found)
    while waiting:
        path = waiting.pop()
        if path not in looked_at and (ROOT / path).is_dir():
            waiting += [f"{path}/{name}" for name in listed(path)]
        looked_at.add(path)
    return looked_at


def targets(page, text):
    """The paths in the repository that a page links to."""
    for part in FENCE.split(text)[::2]:
        for match in LINK.finditer(part):
            path = resolved(page, match[3])
            if path and not is_page_folder(path) and not is_picture(path):
                yield path


def is_picture(path):
    """A page shows it by itself."""
    return path.startswith("docs/") and path.endswith((".svg", ".png"))


def is_page_folder(path):
    return (ROOT / path).is_dir() and (ROOT / path / "README.md").exists() \
        and path.startswith("docs/")


def resolved(page, link):
    """The path of a link in the repository; None if it leads elsewhere."""
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:", link):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def listed(folder):
    """The names in a folder that git knows."""
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "--",
         folder], check=True, capture_output=True, text=True).stdout.split("\n")
    below = {name.removeprefix(f"{folder}/").partition("/")[0]
             for name in names if name}
    return sorted(below)


def shown(path):
    """The page that shows a file, or the list of a folder."""
    if (ROOT / path).is_dir():
        rows = [f"- [{name}]({name}{'/' if (ROOT / path / name).is_dir() else ''})"
                for name in listed(path)]
        text = "\n".join(rows)
    else:
        content = (ROOT / path).read_text("utf-8")
        fence = "`" * 6
        text = (f"{fence}{LANGUAGES.get(Path(path).suffix, 'text')}\n{content}"
                f"\n{fence}")
    return f"---\nsearch: {{ exclude: true }}\n---\n\n# {path}\n\n{text}\n"


def on_page_markdown(markdown, page, config, files):
    page_path = next(path for path, uri in sources.items()
                     if uri == page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri) or "."
    base = page_path + "/." if (ROOT / page_path).is_dir() else page_path

    def relinked(match):
        path = resolved(base, match[3])
        if path and is_page_folder(path):
            path += "/README.md"
        if path not in sources:
            return match[0]
        uri = posixpath.relpath(sources[path], here)
        anchor = match[3].partition("#")[2]
        text = match[1]
        if (match[2] or "").endswith(".md"):
            text = f"[{title(path)}]("
        return text + uri + (f"#{anchor}" if anchor else "") + ")"

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(relinked, unescaped(part)) for part in parts[::2]]
    return "".join(parts)


def title(path):
    """The heading of a page: a name of a file says little in a site."""
    return re.search(r"(?m)^# (.*)", (ROOT / path).read_text("utf-8"))[1]


def unescaped(text):
    """A forge needs \\| in the code of a table; here the code would show it."""
    return re.sub(r"(?m)^\|.*$", lambda row: re.sub(
        r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0]), text)
