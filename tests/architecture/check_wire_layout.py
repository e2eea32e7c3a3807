#!/usr/bin/env python3
"""Checks wire_layout.h, which is written by hand, against the Cap'n Proto compiler's layout of collector.capnp: every
struct's size and every field's place and width. Prints differences and exits with 1."""

import argparse
import os
import re
import subprocess
import sys

SCHEMA = "schemas/wire/collector.capnp"
LAYOUT = "target-collector/message/wire_layout.h"

STRUCT = re.compile(r"^struct (\w+) @\w+ \{\s*# (\d+) bytes, (\d+) ptrs")
MEMBER = re.compile(r"^\s+(\w+) @\d+ :(\S+?)(?: = [^;]+)?;\s*# (?:bits\[(\d+), (\d+)\)|ptr\[(\d+)\](?:, union tag = (\d+))?)")
TAG = re.compile(r"^\s+union \{\s*# tag bits \[(\d+), (\d+)\)")

NAMESPACE = re.compile(r"^namespace (\w+) \{")
SHAPE = re.compile(r"^inline constexpr Shape kShape\{(\d+), (\d+)\};")
FIELD = re.compile(r"^inline constexpr (?:Field<std::u?int(\d+)_t>|(BitField)|(PointerField)) k(\w+)\{(\d+)\};")
MESSAGE = re.compile(r"^    k(\w+) = (\d+),")


def lower_first(name):
    return name[0].lower() + name[1:]


def places_in_schema(text):
    """{(struct, field): place}; a struct's own place is that of the field ""."""
    places = {}
    struct = None
    for line in text.splitlines():
        if match := STRUCT.match(line):
            struct = match.group(1)
            places[struct, ""] = f"{int(match.group(2)) // 8} words, {match.group(3)} pointers"
        elif match := TAG.match(line):
            places[struct, "tag"] = f"bits {match.group(1)} to {match.group(2)}"
        elif match := MEMBER.match(line):
            name, _, begin, end, pointer, tag = match.groups()
            if tag is not None:
                places[struct, name] = f"message {tag}"
                places[struct, "body"] = f"pointer {pointer}"
            else:
                places[struct, name] = f"bits {begin} to {end}" if pointer is None else f"pointer {pointer}"
    return places


def places_in_layout(text):
    """The same, with the line of each."""
    places = {}
    struct = None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := NAMESPACE.match(line):
            struct = "".join(part.capitalize() for part in match.group(1).split("_"))
        elif match := SHAPE.match(line):
            places[struct, ""] = (f"{match.group(1)} words, {match.group(2)} pointers", number)
        elif match := FIELD.match(line):
            width, bit, pointer, name, at = match.groups()
            at = int(at)
            if pointer:
                place = f"pointer {at}"
            elif bit:
                place = f"bits {at} to {at + 1}"
            else:
                place = f"bits {8 * at} to {8 * at + int(width)}"
            places[struct, lower_first(name)] = (place, number)
        elif match := MESSAGE.match(line):
            places["Envelope", lower_first(match.group(1))] = (f"message {match.group(2)}", number)
    return places


def differences(schema, layout):
    found = []
    for (struct, field), (place, line) in layout.items():
        where = f"{LAYOUT}:{line}: {struct}{'.' + field if field else ''}"
        if (struct, field) not in schema:
            found.append(f"{where} isn't in {SCHEMA}")
        elif schema[struct, field] != place:
            found.append(f"{where}: {place}, but {SCHEMA} has it at {schema[struct, field]}")
    for struct, field in sorted(schema.keys() - layout.keys()):
        found.append(f"{LAYOUT}:1: {struct}{'.' + field if field else ''} of {SCHEMA} is missing")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    root = os.path.realpath(parser.parse_args().root)
    compiled = subprocess.run(["capnp", "compile", "-ocapnp", SCHEMA], cwd=root, capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        print(f"capnp compile {SCHEMA}: {compiled.stderr.strip()}")
        return 1
    with open(os.path.join(root, LAYOUT), encoding="utf-8") as file:
        layout = places_in_layout(file.read())
    schema = places_in_schema(compiled.stdout)
    found = differences(schema, layout)
    for text in found:
        print(text)
    print(f"{len(layout)} places, {len(found)} differ")
    return 1 if found or not schema or not layout else 0


if __name__ == "__main__":
    sys.exit(main())
