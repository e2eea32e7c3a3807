#!/usr/bin/env python3
"""Profiles of other programs, compared with `go tool pprof`: compare_with_go.py PERFLEET PROFILE… (files, or folders of them).

Of each sample type: the total, and self and children of the ten functions with most; then what `export --to pprof` makes
of it, sample by sample. Profiles in pprof's old form are converted first. Prints a line a difference, then a sum; exit
status 1 if there is one.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

UNITS = {"nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms", "bytes": "B"}
TOP = 10
NUMBER = r"(-?[\d.]+(?:e[+-]\d+)?)"
PERCENT = r"(?:-?[\d.]+(?:e[+-]\d+)?|NaN|∞)%"
ROW = re.compile(rf"^\s*{NUMBER}\S*\s+{PERCENT}\s+{PERCENT}\s+{NUMBER}\S*\s+{PERCENT}\s+(.*)$")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def go(*arguments):
    status, output, error = run("go", "tool", "pprof", "-symbolize=none", *arguments)
    if status:
        raise ValueError(f"go tool pprof: {error.strip()[-200:]}")
    return output


def raw(path):
    """Sample types, and the samples: values, locations as text, labels."""
    text = re.sub(r" s=(\d+)\([^\n]*\)", r" s=\1", go("-raw", path))  # system names, which perfleet has for linker symbols alone
    head, _, rest = text.partition("Locations\n")
    locations, current = {}, None
    for line in rest.partition("Mappings\n")[0].splitlines():
        found = re.match(r"\s+(\d+): (.*)$", line)
        current = found.group(1) if found else current
        locations[current] = locations.get(current, "") + re.sub(r"\bM=\d+ ?", "", found.group(2) if found else line.strip())
    types, *lines = (head.split("Samples:\n")[1] if "Samples:\n" in head else "").splitlines() or [""]
    samples = []
    for line in lines:
        found = re.match(r"\s*((?:-?\d+\s+)*-?\d+): ?([\d ]*)$", line)
        if found:
            samples.append([found.group(1).split(), [locations.get(number, number) for number in found.group(2).split()], ""])
        elif samples:
            samples[-1][2] += line.strip()
    return types.strip(), collections.Counter(json.dumps(sample) for sample in samples)


def functions_of_go(path, index, unit):
    own, with_callees = collections.Counter(), collections.Counter()
    for line in go("-top", "-functions", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-trim=false",
                   f"-sample_index={index}", f"-unit={UNITS.get(unit, unit)}", path).splitlines():
        if found := ROW.match(line):
            name = re.sub(r" \((inline|partial-inline)\)$", "", found.group(3))
            own[name] += float(found.group(1))
            with_callees[name] += float(found.group(2))
    return own, with_callees


def functions_of(perfleet, path, event):
    status, output, error = run(perfleet, "top", "-i", path, "--event", event, "--by", "symbol", "--limit", "1000000", "--format", "json")
    if status:
        raise ValueError(f"perfleet top --event {event}: {error.strip()[:200]}")
    answer = json.loads(output)
    columns = [column["name"] for column in answer["columns"]]
    own, with_callees = collections.Counter(), collections.Counter()
    for row in answer["rows"]:
        row = dict(zip(columns, row))
        own[row["symbol"]] += row["self"]
        with_callees[row["symbol"]] += row["children"]
    return own, with_callees


def differences(perfleet, path, folder):
    """Yields what differs; returns how many sample types were compared."""
    types, samples = raw(path)
    names = [one.split("/") for one in types.replace("[dflt]", "").split()]
    compared = 0
    for index, (name, unit) in enumerate(names):
        before = [one[0] for one in names[:index]].count(name)
        if not name:
            continue  # no option can name it
        event = name if before == 0 else f"{name}#{before + 1}"
        theirs, ours = functions_of_go(path, index, unit), functions_of(perfleet, path, event)
        compared += 1
        if sum(theirs[0].values()) != sum(ours[0].values()):
            yield f"{event}: total {sum(ours[0].values())}, of go {sum(theirs[0].values()):.0f}"
        for what, of_go, own in zip(("self", "children"), theirs, ours):
            for function, amount in of_go.most_common(TOP):
                if own[function] != amount and function != "<unknown>":  # perfleet names those by their address
                    yield f"{event}: {what} of {function} is {own[function]}, of go {amount:.0f}"
    back = os.path.join(folder, "back.pb.gz")
    status, _, error = run(perfleet, "export", "-i", path, "--to", "pprof", "-o", back, "--force")
    if status:
        yield f"export: {error.strip()[:200]}"
    elif raw(back) != (types, samples):
        yield "export: other samples than the profile has"
    return compared


def main():
    perfleet, *places = sys.argv[1:]
    paths = [os.path.join(place, name) for place in places if os.path.isdir(place) for name in sorted(os.listdir(place))]
    paths = [path for path in paths + [place for place in places if not os.path.isdir(place)] if os.path.isfile(path)]
    if run("go", "version")[0]:
        print("skipped: go isn't installed")
        return 0
    compared = found = 0
    with tempfile.TemporaryDirectory(prefix="perfleet-pprof-") as folder:
        for path in paths:
            profile = path
            if "old form" in run(perfleet, "top", "-i", path, "--limit", "1")[2]:
                profile = os.path.join(folder, "new.pb.gz")
                go("-proto", "-output", profile, path)
            each = differences(perfleet, profile, folder)
            while True:
                try:
                    print(f"{path}: {next(each)}")
                    found += 1
                except StopIteration as end:
                    compared += end.value
                    break
    print(f"{len(paths)} profiles, {compared} sample types, {found} differences")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
