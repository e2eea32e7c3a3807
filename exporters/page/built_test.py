#!/usr/bin/env python3
"""Compares dist/ with its sources, by their digests in dist/SHA256SUMS: a change without
`npm run build` fails, and so does a change of dist/ by hand. Needs no Node.js."""
import hashlib
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
OTHERS = ("build.mjs", "package-lock.json", "tsconfig.json")


def files_of(name):
    return [os.path.relpath(os.path.join(folder, file), FOLDER).replace(os.sep, "/")
            for folder, _, files in os.walk(os.path.join(FOLDER, name)) for file in files]


def digest_of(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    sums = "dist/SHA256SUMS"
    with open(os.path.join(FOLDER, sums)) as file:
        known = {name: digest for digest, name in (line.rstrip("\n").split("  ", 1) for line in file)}
    there = {name: digest_of(name) for name in [*OTHERS, *files_of("src"), *files_of("dist")] if name != sums}
    changed = sorted(name for name in known.keys() | there.keys() if known.get(name) != there.get(name))
    for name in changed:
        print(f"exporters/page/{name}: changed since the last `npm run build` in exporters/page")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
