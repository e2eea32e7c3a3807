#!/usr/bin/env python3
"""Every view and export of a selection adds up to its measure: amounts in one unit, samples beside them.

measure_in_views.py BIN_DIR: records and imports with the real programs, perf among them, below a temporary folder; exit
status 1 when a total differs. Formats are read by what they are, not by perfleet.
"""
import base64
import collections
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

from protobuf_text import field, fields, packed, signed, varint

FAULTS = r"""
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void many(char *p, size_t n) { memset(p, 1, n); }
static __attribute__((noinline)) void few(char *p, size_t n) { for (size_t i = 0; i < n; i += 4096) p[i] = 1; }
int main(void) {
    for (int round = 0; round < 20; ++round) {
        char *p = malloc(64 << 20);
        many(p, 64 << 20);
        free(p);
        p = malloc(1 << 20);
        few(p, 1 << 20);
        free(p);
    }
    return 0;
}
"""


def heap_profile(values, labels=(), period=0):
    """A profile of types objects/count and space/bytes with a function for each pair of values; `labels` of each: texts
    or numbers of bytes, by key. With a period of so many bytes the number of samples is known."""
    texts = ["", "objects", "count", "space", "bytes"] + [f"function_{i}" for i in range(len(values))]

    def text(word):
        if word not in texts:
            texts.append(word)
        return texts.index(word)

    def label(key, value):
        if isinstance(value, str):
            return field(3, field(1, text(key)) + field(2, text(value)))
        return field(3, field(1, text(key)) + field(3, value) + field(4, text("bytes")))

    message = b"".join(field(1, field(1, kind) + field(2, unit)) for kind, unit in ((1, 2), (3, 4)))
    for i, pair in enumerate(values):
        message += field(2, field(1, i + 1) + field(2, b"".join(varint(value) for value in pair))
                         + b"".join(label(*one) for one in (labels[i].items() if labels else ())))
        message += field(4, field(1, i + 1) + field(4, field(1, i + 1)))
        message += field(5, field(1, i + 1) + field(2, 5 + i))
    if period:
        message += field(11, field(1, 3) + field(2, 4)) + field(12, period)
    return gzip.compress(message + b"".join(field(6, one.encode()) for one in texts))


class Recording:
    def __init__(self, bin_dir, name, source, options=(), has_negative=False):
        self.bin, self.name, self.source, self.options = bin_dir, name, source, list(options)
        self.has_negative = has_negative
        self.faults = []

    def run(self, *words):
        done = subprocess.run([os.path.join(self.bin, "perfleet"), *words, *self.source, *self.options], capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: {words}: {done.returncode}: {done.stderr.decode()}")
        self.errors = done.stderr.decode()
        return done.stdout

    def table(self, *words):
        answer = json.loads(self.run(*words, "--format", "json"))
        names = [column["name"] for column in answer["columns"]]
        return answer, [dict(zip(names, row)) for row in answer["rows"]]

    def export(self, name):
        return self.run("export", "--to", name, "-o", "-")

    def expect(self, view, found, wanted):
        if found != wanted:
            self.faults.append(f"{self.name}: {view}: {found}, not {wanted}")

    def check(self):
        answer, rows = self.table("top")
        measure = answer["measure"]
        total, samples, unit = measure["total"], measure["samples"], measure["unit"]
        selves = [row["self"] for row in rows]
        positive = sum(one for one in selves if one > 0)
        self.expect("top", sum(selves), total)
        numbers = {row["self_samples"] for row in rows}
        self.expect("top's samples", None if numbers == {None} else sum(row["self_samples"] for row in rows), samples)
        self.expect("top's unit", answer["columns"][3]["unit"], unit)
        percents = sum(abs(row["self_percent"]) for row in rows)
        self.expect("top's percentages", abs(percents - 100) < 1e-6 or total == 0, True)
        for by in ("image", "command", "thread"):
            self.expect(f"top --by {by}", sum(row["self"] for row in self.table("top", "--by", by)[1]), total)
        csv = self.run("top", "--format", "csv").decode().split("\r\n")
        self.expect("the unit of CSV", {csv[0].split(",")[-1], csv[1].split(",")[-1]}, {"unit", unit})
        counted = self.table("top", "--measure", "samples")[0]["measure"]
        self.expect("--measure samples", (counted["total"], counted["unit"], counted["name"]),
                    (counted["total"] if samples is None else samples, "samples", "samples"))

        _, branches = self.table("tree", "--min-percent", "0")
        self.expect("tree", sum(row["total"] for row in branches if row["depth"] == 0), total)
        self.expect("tree's own", sum(row["self"] for row in branches), total)
        self.expect("inverted tree", sum(row["total"] for row in self.table("tree", "--inverted", "--min-percent", "0")[1]
                                         if row["depth"] == 0), total)
        hot = max(rows, key=lambda row: row["self"])
        same = sum(row["self"] for row in rows if (row["symbol"], row["image"]) == (hot["symbol"], hot["image"]))
        if hot["symbol"][0] != "[":
            lines = self.table("annotate", hot["symbol"], "--image", hot["image"])[1]
            self.expect("annotate", sum(row["self"] or 0 for row in lines), same)
        below = max(rows, key=lambda row: row["children"])["symbol"]
        callers = self.table("top", "--callers", below)[0]["measure"]
        self.expect("callers", callers["total"], total)

        folded = sum(int(line.rpartition(b" ")[2]) for line in self.export("folded").splitlines())
        self.expect("folded", folded, positive)
        self.expect("what folded stacks can't hold is reported", "negative amount" in self.errors, self.has_negative)
        page = self.export("html").decode()
        data = json.loads(zlib.decompress(base64.b64decode(re.search(r'id="data"[^>]*>([^<]*)<', page).group(1))))
        self.expect("flame graph", (sum(data["cells"]["value"]), data["unit"]), (positive, unit))
        self.check_timed(measure, positive)
        self.check_pprof(measure)
        self.check_otlp(measure)

    def check_timed(self, measure, positive):
        unit = measure["unit"]
        events = set(measure["event"].split()) | ({"runqueue-time"} if "--off-cpu" in self.options else set())
        speedscope = json.loads(self.export("speedscope"))
        profiles = [one for one in speedscope["profiles"] if one["name"].split()[0] in events]
        sums = sum(weight for one in profiles for stack, weight in zip(one["samples"], one["weights"]) if stack)
        self.expect("speedscope", sums, positive)
        self.expect("speedscope's unit", {one["unit"] for one in profiles},
                    {{"ns": "nanoseconds", "bytes": "bytes"}.get(unit, "none")})
        firefox = json.loads(gzip.decompress(self.export("firefox")))
        threads = [one["samples"] for one in firefox["threads"] if re.search(r"\(([^()]*)\)$", one["name"]).group(1) in events]
        scale = 10 ** 6 if unit == "ns" else 1
        self.expect("firefox", sum(round(weight * scale) for one in threads for weight in one["weight"]), measure["total"])
        self.expect("firefox's unit", {one["weightType"] for one in threads},
                    {{"ns": "tracing-ms", "bytes": "bytes"}.get(unit, "samples")})

    def check_otlp(self, measure):
        message = list(fields(self.export("otlp")))
        texts = [text.decode() for number, text in fields(dict(message)[2]) if number == 5]
        parts = {"offcpu-time", "runqueue-time"} if "--off-cpu" in self.options else {measure["event"]}
        sums = 0
        for profile in [profile for number, resource in message if number == 1 for part, scope in fields(resource) if part == 2
                        for inner, profile in fields(scope) if inner == 2]:
            kind = [texts[dict(fields(dict(fields(profile))[1])).get(at, 0)] for at in (1, 2)]
            if kind[0] in parts:
                self.expect("otlp's unit", kind[1], {"ns": "nanoseconds", "samples": "count"}.get(measure["unit"], measure["unit"]))
                sums += sum(value for number, sample in fields(profile) if number == 2
                            for at, values in fields(sample) if at == 4 for value in packed(values))
        self.expect("otlp", sums, measure["total"])

    def check_pprof(self, measure):
        profile = list(fields(gzip.decompress(self.export("pprof"))))
        texts = [value.decode() for number, value in profile if number == 6]
        kinds = [dict(fields(value)) for number, value in profile if number == 1]
        names = [(texts[kind.get(1, 0)], texts[kind.get(2, 0)]) for kind in kinds]
        default = texts[dict(profile).get(14, 0)] or names[-1][0]  # a profile that names none: readers take the last
        sums = [0] * len(kinds)
        for number, value in profile:
            if number == 2:
                values = [one for part, held in fields(value) if part == 2 for one in packed(held)]
                sums = [a + b for a, b in zip(sums, values)]
        units = {"ns": "nanoseconds"}
        wanted = units.get(measure["unit"], measure["unit"])
        if "--off-cpu" in self.options:
            self.expect("pprof", sum(sums), measure["total"])
            return
        at = [i for i, (name, unit) in enumerate(names) if name == default and unit == wanted]
        self.expect("pprof's default type", len(at), 1)
        if at:
            self.expect("pprof", sums[at[0]], measure["total"])


def perf_data_has_periods(recording, path):
    """The periods of an export of perf.data are the amounts, but for negative ones."""
    answer, rows = recording.table("top")
    event, total = answer["measure"]["event"], sum(max(row["self"], 0) for row in rows)
    recording.run("export", "--to", "perf.data", "-o", path, "--force")
    text = subprocess.run(["perf", "script", "-F", "event,period", "-i", path], capture_output=True, text=True, check=True).stdout
    periods = [line.split() for line in text.splitlines() if line.strip()]
    recording.expect("perf.data", sum(int(period) for period, name in periods if name == event + ":"), total)
    recording.expect("what perf.data can't hold is reported", "negative amount" in recording.errors, recording.has_negative)


def check_tags(bin_dir, path, store):
    """--tag takes the same samples in every view, and those of all values of a label add up to the profile. `store` has it
    twice."""
    tags = {"region=eu": 8_000_100, "region=us": 2_000_000, "region=none": 0, "region=?u": 8_000_100, "region=eu,us": 10_000_100,
            "bytes=4096": 10_000_000, "bytes=8bytes": 100, "region=eu,bytes=4096": 8_000_000}
    recordings = [Recording(bin_dir, f"--tag {tag}", ["-i", path], ["--tag", tag]) for tag in tags]
    for recording, total in zip(recordings, tags.values()):
        recording.expect("top", sum(row["self"] for row in recording.table("top")[1]), total)
        if total:
            recording.check()
    difference = Recording(bin_dir, "diff --tag", ["--data", store], ["--tag", "region=us"])
    answer = difference.table("diff", "--before", "last~1", "--after", "last")[0]
    difference.expect("diff", answer["measure"]["total"], 2 * tags["region=us"])
    return [fault for recording in [*recordings, difference] for fault in recording.faults]


def main():
    bin_dir = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="perfleet-measure-") as folder:
        def path(name):
            return os.path.join(folder, name)

        def perfleet(*words):
            subprocess.run([os.path.join(bin_dir, "perfleet"), *words], check=True, capture_output=True)

        with open(path("faults.c"), "w", encoding="utf-8") as file:
            file.write(FAULTS)
        subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", path("faults"), path("faults.c")], check=True)
        perfleet("record", "-q", "--data", path("clock"), "-e", "cpu-clock", "-F", "997", "-g", "--", path("faults"))
        perfleet("record", "-q", "--data", path("skewed"), "-e", "page-faults", "-F", "99", "-g", "--", path("faults"))
        perfleet("record", "-q", "--data", path("off"), "-e", "cpu-clock", "-g", "--off-cpu", "--", "sh", "-c",
                 "sleep 0.2; echo; sleep 0.1")
        subprocess.run(["perf", "record", "-q", "-e", "page-faults", "-c", "37", "-g", "-o", path("faults.data"), path("faults")],
                       check=True, capture_output=True)
        with open(path("heap.pb.gz"), "wb") as file:
            file.write(heap_profile([(1, 8_000_000), (1_000, 2_000_000), (3, 100)], period=4096))
        with open(path("difference.pb.gz"), "wb") as file:
            file.write(heap_profile([(5, -50_000), (7, 70_000), (-3, 4_096)]))
        with open(path("labels.pb.gz"), "wb") as file:
            file.write(heap_profile([(1, 8_000_000), (1_000, 2_000_000), (3, 100)],
                                    [{"region": "eu", "bytes": 4096}, {"region": "us", "bytes": 4096}, {"region": "eu", "bytes": 8}]))
        for target in ("a", "b"):
            perfleet("import", path("labels.pb.gz"), "--data", path("labels"), "--target", target)
        recordings = [
            Recording(bin_dir, "clock", ["--data", path("clock")]),
            Recording(bin_dir, "skewed periods", ["--data", path("skewed")]),
            Recording(bin_dir, "off the CPU", ["--data", path("off")], ["--off-cpu"]),
            Recording(bin_dir, "perf.data", ["-i", path("faults.data")]),
            Recording(bin_dir, "heap", ["-i", path("heap.pb.gz")]),
            Recording(bin_dir, "heap without numbers of samples", ["-i", path("labels.pb.gz")]),
            Recording(bin_dir, "negative values", ["-i", path("difference.pb.gz")], has_negative=True),
        ]
        faults = check_tags(bin_dir, path("labels.pb.gz"), path("labels"))
        print(("wrong" if faults else "right") + ": labels of samples", flush=True)
        for recording in recordings:
            recording.check()
            if recording.name != "off the CPU":
                perf_data_has_periods(recording, path("again.data"))
            faults += recording.faults
            print(("wrong" if recording.faults else "right") + ": " + recording.name, flush=True)
        print("\n".join(faults))
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
