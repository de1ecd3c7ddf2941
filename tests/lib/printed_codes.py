"""Finds the codes that the sources can print, from their calls.

A code reaches `check` by problems_add() or problems_add_error(), or by a function
that hands its own parameter on to one of them. The search goes from these calls
to the calls of such functions, until it stands before literals. An expression
that it does not understand is an error, so that no new way goes unnoticed.
"""

import functools
import pathlib
import re
from collections import namedtuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("cli", "clients", "connectors", "core", "destinations", "engines",
           "examples", "stores")
# Function: the places of the code and of the severity among its arguments.
SINKS = {"problems_add": (3, 1), "problems_add_error": (1, None)}
# These hand on the problems that others have added.
HANDED_ON = {("core/sync/report/check.c", "p->code"),
             ("core/plugin/problem.c", "code")}

Site = namedtuple("Site", "source at code severity")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
DEFINITION = re.compile(
    r"^(?P<static>static )?[a-z][\w ]*?[ *](?P<name>\w+)\((?P<parameters>[^;{}]*?)\)\n\{", re.M)


class Source:
    """A file of C: its text without comments, and its functions."""

    def __init__(self, path, text):
        self.path = path
        self.text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()),
                           text, flags=re.S)
        self.functions = list(DEFINITION.finditer(self.text))

    def enclosing(self, at):
        """The function that the place is in."""
        return [f for f in self.functions if f.start() < at][-1]

    def calls(self, name):
        """The calls of a function: their places and arguments."""
        for match in re.finditer(rf"\b{name}\(", self.text):
            found = arguments(self.text, match.end())
            if not re.match(r"(const )?(struct|char|enum) ", found[0]):
                yield match.start(), found


def arguments(text, at):
    """The arguments of a call whose parenthesis has been passed."""
    found, depth, begin = [], 0, at
    while depth >= 0:
        if text[at] == '"':
            at = STRING.match(text, at).end()
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0 or (not depth and text[at] == ","):
            found.append(" ".join(text[begin:at].split()))
            begin = at + 1
        at += 1
    return found


@functools.cache
def sources():
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
            for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]"))]


@functools.cache
def macros():
    """Macros that stand for a literal."""
    return {name: value for source in sources() for name, value in re.findall(
        r'^#define (\w+)\s+"([\w.-]+)"$', source.text, re.M)}


def source_of(path):
    return next(source for source in sources() if source.path == path)


def kinds():
    """The kinds of errors, by the names of their constants: name, exit status."""
    found = re.findall(r'\[(ERROR_\w+)\] = \{ "(\w+)", (\d+) \}',
                       source_of("core/base/error.c").text)
    return {constant: (name, int(status)) for constant, name, status in found}


def parameter(function, name):
    """The place of a name among the parameters, None if it is not there."""
    names = [re.search(r"(\w+)\s*$", one) for one in arguments(
        function["parameters"] + ")", 0)]
    names = [one and one.group(1) for one in names]
    return names.index(name) if name in names else None


def callers(source, function):
    """The calls of a function in the sources that can see it."""
    for other in [source] if function["static"] else sources():
        for at, found in other.calls(function["name"]):
            yield other, at, found


def branches(source, expression):
    """The literals of an expression that has nothing else in its branches."""
    found = STRING.findall(expression)
    assert len(found) == expression.count("?") + 1, \
        f"{source.path}: not understood: {expression}"
    return found


def field_values(source, field):
    """The literals that a field of a struct gets in the folder of a source."""
    folder = source.path.rpartition("/")[0]
    for other in sources():
        if other.path.rpartition("/")[0] == folder:
            for value in re.findall(rf"(?:->|\.){field} = ([^;{{}}]*);", other.text):
                yield from branches(other, value) if '"' in value else []


def composed(source, at, name):
    """The values of a local variable that xstrfmt("%s-%s", ...) made."""
    function = source.enclosing(at)
    made = re.search(rf"\b{name} = xstrfmt\(", source.text[function.start():at])
    if not made:
        return None
    form, where, rest = arguments(source.text, function.start() + made.end())
    assert form == '"%s-%s"' and "error_code_name(" in rest, f"{source.path}: {rest}"
    named = {one for constant, (one, _) in kinds().items()
             if constant not in rest and constant != "ERROR_NONE"}
    return [f"{one}-{kind}" for one in values(source, at, where, STRING)
            for kind in sorted(named | set(STRING.findall(rest)))]


def values(source, at, expression, pattern):
    """The literals, or constants, that an expression can have."""
    found = pattern.findall(expression)
    if found:
        return found
    function = source.enclosing(at)
    place = parameter(function, expression)
    assert place is not None, f"{source.path}: not understood: {expression}"
    return [one for other, there, given in callers(source, function)
            for one in values(other, there, given[place], pattern)]


def literals(site):
    """The codes of a site; None if its function hands a parameter on."""
    if STRING.search(site.code):
        return branches(site.source, site.code)
    if site.code in macros():
        return [macros()[site.code]]
    if (site.source.path, site.code) in HANDED_ON:
        return []
    field = re.search(r"(?:\.|->)(\w+)$", site.code)
    if field:
        found = list(field_values(site.source, field.group(1)))
        assert found, f"{site.source.path}: no value of {site.code}"
        return found
    return composed(site.source, site.at, site.code)


def outer(site):
    """The calls that give a site its code, and maybe its severity."""
    function = site.source.enclosing(site.at)
    code = parameter(function, site.code)
    assert code is not None, f"{site.source.path}: not understood: {site.code}"
    severity = parameter(function, site.severity)
    for source, at, given in callers(site.source, function):
        yield Site(source, at, given[code],
                   site.severity if severity is None else given[severity])


def problem_codes():
    """Each code that `check` can print, with the severities it can have."""
    found = {}
    sites = [Site(source, at, given[code],
                  "SEVERITY_ERROR" if severity is None else given[severity])
             for name, (code, severity) in SINKS.items() for source in sources()
             for at, given in source.calls(name)]
    while sites:
        site = sites.pop()
        codes = literals(site)
        if codes is None:
            sites += outer(site)
            continue
        for code in codes:
            found.setdefault(code, set()).update(
                one.lower() for one in values(site.source, site.at, site.severity,
                                              re.compile(r"SEVERITY_(\w+)")))
    return found


def http_codes():
    """The codes of the HTTP API that are not kinds of errors."""
    found = {STRING.search(given[2]).group(1) for source in sources()
             for _, given in source.calls("http_reply_error")
             if STRING.fullmatch(given[2])}
    for source in sources():
        found.update(re.findall(r'\{\s*\d{3},\s*"(\w+)",', source.text))
    return found - {name for name, _ in kinds().values()}


def literal_texts():
    """The literals of all sources, a line each, as the compiler joins them."""
    joint = re.compile(r'"\s*(?:PRI\w+\s*|(?P<macro>[A-Z][A-Z_]+)\s*)?"')
    for source in sources():
        text = joint.sub(lambda m: macros().get(m["macro"], ""), source.text.replace("\\\"", "\x01"))
        yield from (one.replace("\x01", '"') for one in STRING.findall(text))
