"""Names in the pages that Tidemark has to know: commands, flags, config keys and
values, metrics, codes and environment variables."""

import functools
import json
import pathlib
import re
import subprocess

import jsonschema
import yaml

import printed_codes

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages about the past, and those for people who have the sources before them.
LEFT_OUT = {"CHANGELOG.md", "CONTRIBUTING.md", "docs/architecture.md"}
FENCE = re.compile(r"(?ms)^ *(```|~~~)(\w*)[^\n]*\n(.*?)^ *\1 *$")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
CALL = re.compile(r"(?<![\w/.@+-])(?<!-u )tidemark((?:[ \t]+(?:\\\n[ \t]*)?"
                  r"(?:'[^']*'|\"[^\"]*\"|[^\s|;&)<>#'\"`\\]+))*)")
# The word is an argument of these.
NO_CALL = re.compile(r"\b(apt-get|apt|dpkg|systemctl|journalctl|chown|docker|podman"
                     r"|pip|pipx|airflow)\b[^|;&\n]*$")
FLAG = re.compile(r"^--?[a-z][a-z-]*")
# YAML of other programs, by keys of theirs at the top.
FOREIGN = {"services", "groups", "scrape_configs", "models", "sources", "on",
           "apiVersion", "spec", "config", "backfills"}
# Flags of other programs that pages name in one word.
OTHER_FLAGS = {"--now", "--no-owner"}
# Settings that others have, and whose remedy we tell.
OTHER_SETTINGS = {"mode: merge"}
# No key below another one, though it looks so.
NO_PATH = re.compile(r"schema\.(table|name)|.*\.(md|c|h|py|ya?ml|db|json|sql|sh|pem)")
# Words with hyphens that are no codes of Tidemark.
OTHER_WORDS = re.compile(r"(systemd|postgresql|python3?|lib\w*)-[a-z-]+")


class Names:
    """The names that a binary knows."""

    def __init__(self, binary):
        def said(*args):
            return subprocess.run([binary, *args], check=True, text=True,
                                  capture_output=True).stdout
        self.flags, self.everywhere = flags_of(said("help", "--reference"))
        self.schema = json.loads(said("schema"))
        self.loose = without_required(self.schema)
        self.properties = {}
        index_properties(self.loose, self.properties)
        self.codes = set(printed_codes.problem_codes()) \
            | printed_codes.http_codes()

    def all_flags(self):
        return set().union(self.everywhere, *self.flags.values())


def flags_of(reference):
    """Flags by command, and those of every command."""
    parts = re.split(r"(?m)^## ([a-z-]+)$", reference)

    def flags(text):
        return {word for row in re.findall(r"(?m)^\| (`-.*?) \|", text)
                for word in re.findall(r"`(--?[a-z-]+)", row)}
    return ({name: flags(text) for name, text in zip(parts[1::2], parts[2::2])},
            flags(parts[0]))


class Loader(yaml.SafeLoader):
    """YAML 1.2, in which `on` and `off` are words."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found
            if tag != "tag:yaml.org,2002:bool"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool",
                             re.compile("^(true|false)$"), list("tf"))


def load(text):
    return yaml.load(text, Loader)


def without_required(schema):
    """The schema for a part of a config."""
    if isinstance(schema, dict):
        return {key: value if key == "if" else without_required(value)
                for key, value in schema.items()
                if key != "required" or not isinstance(value, list)}
    if isinstance(schema, list):
        return [without_required(each) for each in schema]
    return schema


def index_properties(schema, found):
    """All schemas that a key can have, by the key."""
    if isinstance(schema, dict):
        for key, value in (schema.get("properties") or {}).items():
            if isinstance(value, dict):
                found.setdefault(key, []).append(value)
        for value in schema.values():
            index_properties(value, found)
    elif isinstance(schema, list):
        for value in schema:
            index_properties(value, found)


def fits(schema, value):
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@functools.cache
def literals():
    """All words of the sources and of what is shipped with them."""
    text = subprocess.run(
        ["git", "-C", ROOT, "grep", "-hoE", r"[A-Za-z0-9_$-]{3,}", "--",
         "*.c", "*.h", "migrations", "packaging", "integrations", "demo", "tools",
         "examples", "meson*"], check=True, capture_output=True, text=True).stdout
    return set(text.split())


class Page:
    """The wrong names of a page, with their lines. On a page about another tool
    the first cells of tables have names of that tool."""

    def __init__(self, text, names, other_tool=False):
        self.text, self.names, self.wrong = text, names, []
        self.other_tool = other_tool
        self.prose = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for match in FENCE.finditer(text):
            self.block(match)
        for match in SPAN.finditer(self.prose):
            self.span(" ".join(match[1].replace("\\|", "|").split()),
                      match.start())
        self.words()

    def add(self, at, reason):
        self.wrong.append(f"{self.text.count(chr(10), 0, at) + 1}: {reason}")

    def block(self, match):
        language, content = match[2], match[3]
        if language in ("sh", "bash", "console", ""):
            code = re.sub(r"(?m)(?:^|(?<=\s))#.*$",
                          lambda comment: " " * len(comment[0]), content)
            for call in CALL.finditer(code):
                if not NO_CALL.search(code[:call.start()]):
                    self.call(call, match.start(3))
        if language == "yaml":
            self.yaml(content, match.start(3))

    def call(self, match, begin):
        words = re.findall(r"'[^']*'|\"[^\"]*\"|[^\s\\]+", match[1])
        command, flags = None, []
        skip = False
        for word in words:
            if skip:
                skip = False
            elif FLAG.match(word):
                flags.append(FLAG.match(word)[0])
                skip = command is None and word in ("-c", "--config",
                                                    "--log-format")
            elif command is None:
                command = word
        self.command(command, flags, begin + match.start())

    def command(self, command, flags, at):
        known = self.names.flags
        if command is None:
            allowed = self.names.everywhere
        elif command in known:
            allowed = known[command] | self.names.everywhere
        elif re.fullmatch(r"[a-z-]+", command):
            return self.add(at, f"there is no command {command}")
        else:
            allowed = self.names.all_flags()
        for flag in flags:
            if flag not in allowed:
                self.add(at, f"tidemark {command or ''} has no {flag}")
        return None

    def yaml(self, content, at):
        try:
            value = load(content)
        except yaml.YAMLError as error:
            return self.add(at, f"no YAML: {error}")
        if not isinstance(value, dict) or set(value) & FOREIGN and \
                not set(value) & {"pipelines", "connections"}:
            return None
        if not self.is_config(value):
            self.add(at, "the YAML has a key or a value that no config has: "
                     f"{self.why_not(value)}")
        return None

    def is_config(self, value):
        """Fits as a whole, or as a part of a pipeline or a connection."""
        loose, known = self.names.loose, self.names.properties
        return fits(loose, value) or fits(
            loose["properties"]["pipelines"], value) or all(
                any(fits(each, inner) for each in known.get(key, ()))
                for key, inner in value.items())

    def why_not(self, value):
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(self.names.loose).iter_errors(value))
        return error.message[:200]

    def span(self, text, at):
        if self.other_tool and self.is_first_cell(at):
            return
        first = text.split()[0]
        if first == "tidemark" or first in self.names.flags and \
                re.search(r" -", text):
            text = text if first == "tidemark" else f"tidemark {text}"
            for call in CALL.finditer(text):
                self.call(call, at - call.start())
        elif re.match(r"--[a-z]", text):
            flag = FLAG.match(text)[0]
            if flag not in self.names.all_flags() | OTHER_FLAGS \
                    and flag.lstrip("-") not in literals() \
                    and flag not in literals():
                self.add(at, f"no command has {flag}")
        elif re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", text):
            self.path(text, at)
        elif re.match(r"[a-z_]+: \S", text) and not self.is_first_cell(at):
            self.setting(text, at)
        elif re.fullmatch(r"[a-z]+(-[a-z]+)+", text):
            self.code(text, at)

    def path(self, text, at):
        """A key below another one, such as load.mode."""
        names = text.split(".")
        level = self.names.properties.get(names[0])
        if level is None or NO_PATH.fullmatch(text):
            return
        for name in names[1:]:
            below = {}
            for each in level:
                index_properties(each, below)
            level = below.get(name)
            if level is None:
                self.add(at, f"there is no key {text}")
                return

    def setting(self, text, at):
        """A key and its value, such as `tail: hold`."""
        try:
            value = load(text)
        except yaml.YAMLError:
            return
        if text in OTHER_SETTINGS or not isinstance(value, dict) \
                or re.search(r"\.\.\.|…|NAME", text):
            return
        key, inner = next(iter(value.items()))
        if key not in self.names.properties:
            if not re.search(r"failed|warning|error", key):
                self.add(at, f"there is no key {key}")
        elif not any(fits(each, inner) for each in self.names.properties[key]):
            self.add(at, f"{text}: no such value of {key}")

    def is_first_cell(self, at):
        """A table of messages has them there."""
        begin = self.prose[self.prose.rfind("\n", 0, at) + 1:at]
        return begin.startswith("|") and begin.count("|") == 1

    def code(self, text, at):
        if text not in self.names.codes | set(self.names.flags) \
                and text not in literals() and not OTHER_WORDS.fullmatch(text):
            self.add(at, f"nothing is called {text}")

    def words(self):
        for match in re.finditer(r"\b_?tidemark_[a-z_]+|\bTIDEMARK_[A-Z_]+",
                                 self.text):
            name = re.sub(r"(_total|_bucket|_sum|_count|_info)$", "", match[0])
            if name not in literals() and match[0] not in literals():
                self.add(match.start(), f"nothing is called {match[0]}")


def wrong_names(path, names):
    return Page((ROOT / path).read_text(encoding="utf-8"), names,
                path.startswith("docs/migrating/")).wrong


def pages():
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard",
         "*.md", "docs/*.md"], check=True, capture_output=True,
        text=True).stdout.splitlines()
    return [name for name in sorted(set(names)) if name not in LEFT_OUT
            and (name.startswith("docs/") or "/" not in name)
            and (ROOT / name).exists()]
