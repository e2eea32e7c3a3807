#!/usr/bin/env python3
"""Rules about documents: README.md and docs/*.md wrap at 100 columns, links lead to files and headings that exist, and
phrases that were given up don't come back, in documents and in the help of programs.

usage: check_documents.py [--root DIR] [--programs DIR]     each finding is a line; exit status 1 where there is one
"""

import argparse
import os
import re
import subprocess
import sys

from source_tree import project_files

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COLUMNS = 100
# What the field has a word for: the phrase, and that word.
GIVEN_UP = {
    r"put off": "deferred",
    r"ask[e]rs?": "query client",
    r"(those )?who (may )?asks?": "query client",
    r"said goodbye": "closed cleanly",
    r"reasons? to doubt": "validity warning",
    r"at the door": "before the handshake",
    r"made at run time": "JIT code",
    r"misdeeds?": "abuse limiter, strikes",
    r"t[a]lly books?": "counters",
    r"gives? orders": "send control requests",
    r"how long what is stored is kept": "retention",
}
PROGRAMS = ["perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"]


def prose(text):
    """Lines with their numbers; those of code blocks are empty."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        start = line.strip()[:3]
        if fence is None and start in ("```", "~~~"):
            fence = start
            yield number, ""
        elif fence is not None:
            fence = None if line.strip() == fence else fence
            yield number, ""
        else:
            yield number, line


def anchors(text):
    """As GitHub makes them of headings."""
    found = set()
    for _, line in prose(text):
        heading = re.match(r"#+ +(.*?) *$", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            count = 0
            while (anchor if count == 0 else f"{anchor}-{count}") in found:
                count += 1
            found.add(anchor if count == 0 else f"{anchor}-{count}")
    return found


def long_lines(text):
    for number, line in prose(text):
        # What can't be wrapped: a row of a table, a single word, a picture.
        if len(line) > COLUMNS and not line.lstrip().startswith(("|", "![")) and len(line.split()) > 1:
            yield number, f"{len(line)} columns: wrap at {COLUMNS}"


def broken_links(root, name, text):
    for number, line in prose(text):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(root, os.path.dirname(name), path)) if path else os.path.join(root, name)
            if not os.path.exists(full):
                yield number, f"the link leads nowhere: {target}"
            elif anchor and full.endswith(".md"):
                with open(full, encoding="utf-8") as file:
                    if anchor not in anchors(file.read()):
                        yield number, f"no such heading: {target}"


def given_up(text):
    """Phrases may go over the end of a line."""
    for phrase, instead in GIVEN_UP.items():
        pattern = r"(?<![\w-])" + phrase.replace(" ", r"\s+") + r"(?![\w-])"
        for found in re.finditer(pattern, text, re.IGNORECASE):
            words = " ".join(found.group().split())
            yield text.count("\n", 0, found.start()) + 1, f"'{words}' was given up; the field's word: {instead}"


def documents_to_wrap(names):
    return [name for name in names if name == "README.md" or re.fullmatch(r"docs/[^/]+\.md", name)]


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--programs", help="folder of the programs whose help is read")
    arguments = parser.parse_args()

    findings = 0

    def report(name, found):
        nonlocal findings
        for number, what in found:
            print(f"{name}:{number}: {what}")
            findings += 1

    names = [name for name in project_files(arguments.root) if name.endswith(".md")]
    wrapped = documents_to_wrap(names)
    for name in names:
        with open(os.path.join(arguments.root, name), encoding="utf-8") as file:
            text = file.read()
        report(name, broken_links(arguments.root, name, text))
        if name in wrapped:
            report(name, long_lines(text))
        report(name, given_up(text))
    commands = 0
    if arguments.programs:
        missing = [name for name in PROGRAMS if not os.path.exists(os.path.join(arguments.programs, name))]
        if missing:
            print(f"build first: {', '.join(missing)}")
            return 1
        for command, text in helps(arguments.programs):
            report(f"{command} --help", given_up(text))
            commands += 1
    print(f"{len(names)} documents, {commands} helps")
    return 1 if findings or not wrapped else 0


if __name__ == "__main__":
    sys.exit(main())
