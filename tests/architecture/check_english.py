#!/usr/bin/env python3
"""Rules about English: documents, comments, messages and the help of programs don't use phrases that were given up, and few
of their sentences are long. It also draws sentences at random, for a reader to judge.

usage: check_english.py [--root DIR] [--programs DIR]     each finding is a line; exit status 1 if there is one
       check_english.py [--root DIR] --draw N [--seed S] [--under PATH]     prints N sentences with their places
"""

import argparse
import collections
import os
import random
import re
import subprocess
import sys

from check_documents import prose
from source_tree import project_files

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WORDS_MAX = 30
LONG_SHARE_MAX = 0.02
# Phrases that were given up, and the field's word for each.
GIVEN_UP = {
    r"put off": "deferred",
    r"ask[e]rs?": "query client",
    r"(those )?who (may )?asks?": "query client",
    r"goodb[y]e": "closed cleanly, Bye",
    r"reasons? to doubt": "validity warning",
    r"at the door": "before the handshake",
    r"let in": "accepted, admitted",
    r"made at run time": "JIT code; generated",
    r"misdeeds?": "abuse limiter, strikes",
    r"t[a]lly books?": "counters",
    r"gives? orders": "send control requests",
    r"how long what is stored is kept": "retention",
    r"told|tells?": "reports, logs, shows; distinguishes",
    r"complains?": "warns, reports",
    r"speaks? for": "is attached to, represents",
    r"p[a]tience": "timeout",
    r"room (for|in|to|left)|no room": "space, capacity",
    r"sorts? of": "kind, type",
    r"what it is told|what came|what is there": "the thing's name: the options, the batch, the stored rows",
    r"whoever": "the thing's name: the process, the reader, the peer",
    r"for ever": "forever",
}
PROGRAMS = ["perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"]

# A run of prose: a paragraph, a comment, or the literals of one message. `lines` are its lines without comment marks.
Block = collections.namedtuple("Block", "path line kind lines")
Sentence = collections.namedtuple("Sentence", "path line kind text")

SKIPPED = re.compile(r"(^|/)(corpus|golden|dist|node_modules|dictionaries)/|package-lock\.json$")
C_LIKE = (".h", ".cpp", ".c", ".S", ".ts", ".mjs", ".js")
HASH_LIKE = (".py", ".cmake", ".capnp", ".sh", "CMakeLists.txt")
# Each alternative begins with a letter of its own, which makes the search fast.
C_TOKEN = re.compile(r'R"(?P<mark>[^(\s"]*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
DIGITS_APART = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
# Between two literals of one message: nothing, or a value that is inserted.
SAME_MESSAGE = re.compile(r"\s*(\+[^;,{}?\"]*\+)?\s*")
SENTENCE_END = re.compile(r"""(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(["')`*]*)\s+(?=["'(*\[]*[A-Z0-9]|`)""")
LIST_ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s+")


def is_test(name):
    return name.startswith("tests/") or "/testing/" in name or re.search(r"_test\.|_fixture\.|simulat", name)


def from_c(name, text):
    """Comments, joined where one goes on in the next line, and the messages of what isn't a test."""
    comments = []  # [line, column, lines, end line]
    message = None  # [offset, text, end offset]
    starts = [0] + [found.end() for found in re.finditer("\n", text)]
    line = 0
    has_messages = not is_test(name)

    def line_of(offset):
        nonlocal line
        while line + 1 < len(starts) and starts[line + 1] <= offset:
            line += 1
        return line + 1

    for found in C_TOKEN.finditer(DIGITS_APART.sub("_", text)):
        token = text[found.start():found.end()]
        at = line_of(found.start())
        if token.startswith("//"):
            column = found.start() - starts[at - 1]
            alone = not text[starts[at - 1]:found.start()].strip()
            last = comments[-1] if comments else None
            if last and last[3] == at - 1 and last[1] == column and alone:
                last[2].append(token[2:])
                last[3] = at
            else:
                comments.append([at, column, [token[2:]], at])
        elif token.startswith("/*"):
            lines = [re.sub(r"^\s*\*", "", part) for part in token[2:-2].split("\n")]
            comments.append([at, -1, lines, at + len(lines) - 1])
        elif has_messages and token.startswith("R"):
            yield Block(name, at, "message", token[token.index("(") + 1:token.rindex(")")].split("\n"))
        elif has_messages and token.startswith('"') and not text[starts[at - 1]:found.start()].lstrip().startswith("#include"):
            words = token[1:-1].replace(r"\"", '"').replace(r"\t", " ").replace(r"\n", "\n")
            between = SAME_MESSAGE.fullmatch(text[message[2]:found.start()]) if message else None
            if between:
                message[1] += ("…" if between.group(1) else "") + words
                message[2] = found.end()
            else:
                if message:
                    yield Block(name, message[0], "message", message[1].split("\n"))
                message = [at, words, found.end()]
    if message:
        yield Block(name, message[0], "message", message[1].split("\n"))
    for at, _, lines, _ in comments:
        yield Block(name, at, "comment", lines)


def from_hash(name, text):
    """Comments that have a line of their own, and docstrings."""
    run, first = [], 0
    lines = text.split("\n")
    for number, line in enumerate([*lines, ""], 1):
        if re.match(r"\s*#(?!!)", line):
            first = first if run else number
            run.append(line.strip()[1:])
        elif run:
            yield Block(name, first, "comment", run)
            run = []
    if name.endswith(".py"):
        for found in re.finditer(r'^ *"""(.*?)"""', text, re.DOTALL | re.MULTILINE):
            yield Block(name, text.count("\n", 0, found.start()) + 1, "comment", found[1].split("\n"))


def blocks(root):
    for name in project_files(root):
        if SKIPPED.search(name):
            continue
        read = None
        if name.endswith(C_LIKE):
            read = from_c
        elif name.endswith(HASH_LIKE):
            read = from_hash
        elif not name.endswith(".md"):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        if read:
            yield from read(name, text)
        else:
            yield Block(name, 1, "document", [line for _, line in prose(text)])


def paragraphs(block):
    """(line, text) of each paragraph, list item, heading and table cell; what is indented like code isn't prose."""
    run, first = [], 0
    for number, line in enumerate([*block.lines, ""], block.line):
        text = line.strip()
        is_item = LIST_ITEM.match(line)
        is_heading = block.kind == "document" and text.startswith("#")
        is_row = text.startswith("|")
        is_code = block.kind != "document" and re.match(r"\s{3,}", line) and not run
        if run and (not text or is_item or is_heading or is_row):
            yield first, " ".join(run)
            run = []
        if not text or is_code:
            continue
        if is_row or is_heading:
            for cell in re.split(r"(?<!\\)\|", text):
                yield number, cell.strip(" #")
            continue
        first = first if run else number
        run.append(line[is_item.end():].strip() if is_item else text)


def plain(text):
    """Without the marks of Markdown."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def words_of(text):
    """How many words it has. A span of code is one."""
    return sum(1 for word in re.sub(r"`[^`]*`", "code", text).split() if re.search(r"\w", word))


def sentences(block):
    for number, text in paragraphs(block):
        for part in SENTENCE_END.sub(r"\1\n", plain(text)).split("\n"):
            if part.count(" ") >= 3:
                yield Sentence(block.path, number, block.kind, part.strip())


PATTERNS = [(re.compile(r"(?<![\w:-])(?:" + phrase.replace(" ", r"\s+") + r")(?![\w(-])", re.IGNORECASE), instead)
            for phrase, instead in GIVEN_UP.items()]
ANY_PATTERN = re.compile("|".join(pattern.pattern for pattern, _ in PATTERNS), re.IGNORECASE)


def given_up(text):
    """(line, finding). Phrases may go over the end of a line."""
    if not ANY_PATTERN.search(text):
        return
    for pattern, instead in PATTERNS:
        for found in pattern.finditer(text):
            words = " ".join(found.group().split())
            yield text.count("\n", 0, found.start()) + 1, f"'{words}' was given up; the field's word: {instead}"


def helps(folder):
    """What programs and their commands print for --help."""
    def run(*arguments):
        return subprocess.run([os.path.join(folder, arguments[0]), *arguments[1:], "--help"], check=True, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60).stdout

    for program in PROGRAMS:
        text = run(program)
        yield program, text
        listed = text.partition("\nSubcommands:\n")[2].split("\n\n")[0]
        for command in re.findall(r"^  ([a-z][a-z-]*)", listed, re.MULTILINE):
            yield f"{program} {command}", run(program, command)


def draw(root, count, seed, under):
    every = [sentence for block in blocks(root) if block.path.startswith(under) for sentence in sentences(block)]
    for sentence in random.Random(seed).sample(every, min(count, len(every))):
        print(f"{sentence.path}:{sentence.line}: {sentence.text}")


def check(root, programs):
    findings = []
    counts, longs = collections.Counter(), collections.defaultdict(list)
    for block in blocks(root):
        findings += [f"{block.path}:{block.line + line - 1}: {what}" for line, what in given_up("\n".join(block.lines))]
        for sentence in sentences(block):
            counts[block.kind] += 1
            if words_of(sentence.text) > WORDS_MAX:
                longs[block.kind].append(sentence)
    for kind, count in counts.items():
        if len(longs[kind]) > LONG_SHARE_MAX * count:
            findings.append(f"{len(longs[kind])} of {count} sentences of kind {kind} have more than {WORDS_MAX} words, above "
                            f"{100 * LONG_SHARE_MAX:g} %; the first are {', '.join(f'{s.path}:{s.line}' for s in longs[kind][:5])}")
    commands = 0
    if programs:
        missing = [name for name in PROGRAMS if not os.path.exists(os.path.join(programs, name))]
        if missing:
            return [f"build first: {', '.join(missing)}"], counts, 0
        for command, text in helps(programs):
            findings += [f"{command} --help:{line}: {what}" for line, what in given_up(text)]
            commands += 1
    return findings, counts, commands


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--programs", help="folder of the programs whose help is read")
    parser.add_argument("--draw", type=int, metavar="N", help="print N sentences instead of checking")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--under", default="", metavar="PATH", help="draw only from files whose path begins so")
    arguments = parser.parse_args()
    if arguments.draw:
        draw(arguments.root, arguments.draw, arguments.seed, arguments.under)
        return 0
    findings, counts, commands = check(arguments.root, arguments.programs)
    for finding in findings:
        print(finding)
    print(f"{sum(counts.values())} sentences, {commands} helps")
    return 1 if findings or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
