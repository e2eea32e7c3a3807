#!/usr/bin/env python3
"""Rules about documents: README.md and docs/*.md wrap at 100 columns, and links lead to files and headings that exist.
Their English is checked by check_english.py.

usage: check_documents.py [--root DIR]     each finding is a line; exit status 1 if there is one
"""

import argparse
import os
import re
import sys

from source_tree import project_files

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COLUMNS = 100


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


def documents_to_wrap(names):
    return [name for name in names if name == "README.md" or re.fullmatch(r"docs/[^/]+\.md", name)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=ROOT)
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
    print(f"{len(names)} documents")
    return 1 if findings or not wrapped else 0


if __name__ == "__main__":
    sys.exit(main())
