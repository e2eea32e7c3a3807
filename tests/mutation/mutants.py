"""Finds single mutants in sources, and writes all of a source's mutants into it, each behind a number of its own.

So one build holds all of them: a program runs as mutant N when the environment says MUTANT=N (mutation.h).
"""

import pathlib
import re

# The kind, what it finds, its replacement. Code is formatted: binary operators have spaces around them, template
# arguments don't.
OPERATORS = [
    ("relational", r"(?<= )<(?= )", "<="), ("relational", r"(?<= )<=(?= )", "<"),
    ("relational", r"(?<= )>(?= )", ">="), ("relational", r"(?<= )>=(?= )", ">"),
    ("relational", r"(?<= )==(?= )", "!="), ("relational", r"(?<= )!=(?= )", "=="),
    ("logical", r"(?<= )&&(?= )", "||"), ("logical", r"(?<= )\|\|(?= )", "&&"),
    ("arithmetic", r"(?<=[^_] )\+(?= (?!_|std::(to_)?string))", "-"), ("arithmetic", r"(?<= )-(?= )", "+"),
    ("plus or minus 1", r" [+-] 1\b(?![.'])", ""), ("plus or minus 1", r"(?<=[ (])0(?=[;),])", "1"),
    ("plus or minus 1", r"(?<=[ (])1(?=[;),])", "2"),
    ("negated condition", r"(?<=\bif \()(?!const |auto )([^;]*)(?=\) \{$)", r"!(\1)"),
    ("negated condition", r"(?<=\breturn )(true|false)(?=;$)", lambda found: {"true": "false"}.get(found[0], "true")),
    ("dropped statement", r"^(?!return|co_|using|case|throw|delete|else|static_|PERFLEET_)"
                          r"(\(void\))?[\w.:>\[\]*-]+(\(.*\)| [-+|&^]?= [^;]*);$", ";"),
    ("dropped statement", r"^(\+\+|--)[\w.>-]+;$", ";"), ("dropped statement", r"^(break|continue);$", ";"),
    ("swapped bound", r"\blower_bound\b", "upper_bound"), ("swapped bound", r"\bupper_bound\b", "lower_bound"),
    ("swapped bound", r"\bstd::min\b", "std::max"), ("swapped bound", r"\bstd::max\b", "std::min"),
    ("swapped bound", r"\.front\(\)", ".back()"), ("swapped bound", r"\.back\(\)", ".front()"),
]
NO_CODE = re.compile(r"^\s*(//|#|template|static_assert|namespace|using|PERFLEET_ASSERT)")
HEADER = pathlib.Path(__file__).with_name("mutation.h")
REACHED_SIZE = 1 << 16  # kReachedSize in mutation.h
PROXIES = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal", "!=": "Unequal",
           "+": "Plus", "-": "Minus"}


class Mutant:
    """Line `line` of `path` becomes `after`. It differs in [begin, end) of the line, where `new` stands."""

    def __init__(self, path, line, kind, before, begin, end, new):
        self.path, self.line, self.kind, self.before = path, line, kind, before
        self.begin, self.end, self.new = begin, end, new
        self.after = before[:begin] + new + before[end:]

    def __str__(self):
        return f"{self.path}:{self.line}  {self.kind}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def blanked(line):
    """The line with strings and comments blanked out, of the same length up to a last comment."""
    code = re.sub(r'"(\\.|[^"\\])*"|//.*', lambda part: "_" * len(part[0]), line).rstrip()
    return re.sub(r"[ _]+$", "", code)


def is_balanced(code):
    return all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}"))


def mutants_of(path, text):
    found, begins_statement = [], True
    for number, line in enumerate(text.split("\n"), 1):
        if NO_CODE.match(line):
            continue
        code = blanked(line)
        indent = len(code) - len(code.lstrip())
        for kind, pattern, replacement in OPERATORS:
            if kind == "dropped statement" and not (begins_statement and is_balanced(code)):
                continue
            for hit in re.finditer(pattern, code[indent:]):
                begin, end = indent + hit.start(), indent + hit.end()
                # From the line itself: the pattern was matched on it without its strings.
                group = line[begin:end]
                new = replacement(hit) if callable(replacement) else replacement.replace(r"\1", group)
                if new != group:
                    found.append(Mutant(path, number, kind, line, begin, end, new))
        if code.strip():
            begins_statement = code[-1] in ";{}:"
    return found


class NotMade(Exception):
    """A mutant that can't stand beside the others of its source."""


def full_blank(text):
    return "\n".join(blanked(line).ljust(len(line)) for line in text.split("\n"))


def logical_extent(code, at):
    """The whole of the && and || expression around `at`."""
    depth, begin = 0, at
    while begin > 0:
        c = code[begin - 1]
        if depth == 0 and (c in "([{,;?" or (c == "=" and code[begin - 2] not in "=!<>" and code[begin].isspace())
                           or (c == ":" and code[begin - 2] != ":" and code[begin].isspace())
                           or re.search(r"\b(co_)?return$", code[max(0, begin - 10):begin])):
            break
        depth += (c in ")]}") - (c in "([{")
        begin -= 1
    depth, end = 0, at
    while end < len(code):
        c = code[end]
        if depth == 0 and (c in ")]},;?" or code[end:end + 3] == " : "):
            break
        depth += (c in "([{") - (c in ")]}")
        end += 1
    return begin + len(code[begin:]) - len(code[begin:].lstrip()), end


def postfix_begin(code, at):
    """Where the expression begins that ends before `at`: names, members, calls."""
    begin = at
    while begin > 0:
        if code[begin - 1] in ")]":
            depth = 0
            while True:
                begin -= 1
                depth += (code[begin] in ")]") - (code[begin] in "([")
                if depth == 0:
                    break
        elif re.match(r"[\w.:]", code[begin - 1]):
            begin -= 1
        elif code[begin - 2:begin] == "->":
            begin -= 2
        elif code[begin - 1] == ">":
            raise NotMade
        else:
            break
    return begin


def call_end(code, at):
    """Where the call ends whose name ends at `at`."""
    if code[at] == "<":
        at = code.index(">(", at) + 1
    if code[at] != "(":
        raise NotMade
    depth = 0
    for end in range(at, len(code)):
        depth += (code[end] == "(") - (code[end] == ")")
        if depth == 0:
            return end + 1
    raise NotMade


def enclosing_bracket(code, at):
    depth = 0
    while at > 0:
        at -= 1
        depth += (code[at] in ")]}") - (code[at] in "([{")
        if depth < 0:
            return code[at]
    return ""


def edit_of(mutant, number, text, code, start):
    """begin, end, what goes before, what goes after it; instead of it, if the last is None."""
    begin, end = start + mutant.begin, start + mutant.end
    is_on = f"mutation::is_on<{number}>()"
    if "constexpr" in mutant.before or re.match(r"\s*k[A-Z]\w* = ", mutant.before):  # chosen when it is compiled
        raise NotMade
    if mutant.kind == "dropped statement":
        end -= len(text[begin:end]) - len(text[begin:end].rstrip())
        if re.match(r"[A-Z~]", text[begin:]):  # a constructor's declaration
            raise NotMade
        return begin, end, f"if (!{is_on}) {{ ", " }"
    if mutant.kind == "negated condition":
        if mutant.new in ("true", "false"):
            return begin, end, f"({is_on} ? {mutant.new} : {text[begin:end]})", None
        return begin, end, f"{is_on} != static_cast<bool>(", ")"
    if mutant.kind in ("relational", "arithmetic"):
        operator = text[begin:end]
        return begin, end, f"{operator} mutation::{PROXIES[operator]}<{number}>{{}} {operator}", None
    if mutant.kind == "plus or minus 1":
        if not mutant.new:  # " + 1", whose 1 may be another mutant
            return end - 1, end, f"({is_on} ? 0 : ", ")"
        pick = "brace_number" if enclosing_bracket(code, begin) == "{" else "number"
        return begin, end, f"mutation::{pick}<{number}, {text[begin:end]}, {mutant.new}>()", None
    if mutant.kind == "logical":
        outer_begin, outer_end = logical_extent(code, begin)
        cast = "static_cast<bool>"
    else:
        outer_begin = postfix_begin(code, begin)
        outer_end = end if mutant.new.endswith("()") else call_end(code, end)
        cast = ""
    raw = text[outer_begin:begin] + mutant.new + text[end:outer_end]
    raw = " ".join(re.sub(r"\s//.*", "", line).strip() for line in raw.split("\n"))
    return outer_begin, outer_end, f"({is_on} ? {cast}({raw}) : {cast}(", "))"


def with_mutants(text, numbered):
    """The source with all of these (number, mutant) in it, and the numbers of those that can't be."""
    code = full_blank(text)
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    # At one place closing comes first, the inner before the outer; then opening, the outer before the inner.
    pieces, not_made = [], set()
    for number, mutant in numbered:
        try:
            begin, end, before, behind = edit_of(mutant, number, text, code, starts[mutant.line - 1])
        except NotMade:
            not_made.add(number)
            continue
        if behind is None:
            pieces.append(((begin, 2, 0, number), end, before))
        else:
            pieces.append(((begin, 1, -end, number), begin, before))
            pieces.append(((end, 0, -begin, -number), end, behind))
    made, at = [], 0
    for (begin, *_), end, new in sorted(pieces):
        made += [text[at:begin], new]
        at = max(end, begin)
    made.append(text[at:])
    # No warnings: a mutant may cause them.
    return f'#pragma GCC system_header\n#include "{HEADER}"\n#line 1\n' + "".join(made), not_made
