#!/usr/bin/env python3
"""How often `perfleet compare` shows a difference of elapsed time: between equal commands, and for gzip of an input that is longer by 5 %.

compare_verdicts.py BIN_DIR equal [--rounds 1000] [--turns 10]
compare_verdicts.py BIN_DIR gzip [--rounds 30] [--turns 30] [--stress N]   (stress-ng --cpu N beside it; 0: none)

equal ends with 1 if more than 66 of 1,000 are shown (5 %, and 2.3 standard errors of 1,000 comparisons). gzip ends with 1 if compare
shows it less often than a paired t test of the same values.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

LEVEL = 0.05


def rows_of(answer):
    names = [column["name"] for column in answer["columns"]]
    return [dict(zip(names, row)) for row in answer["rows"]]


def student_tail(t, degrees):
    """P(T > |t|), by Simpson's rule on the density: independent of the program's own."""
    def density(x):
        return math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
                        - (degrees + 1) / 2 * math.log1p(x * x / degrees)) / math.sqrt(degrees * math.pi)
    steps = 2000
    width = abs(t) / steps
    inner = sum(density(i * width) * (4 if i % 2 else 2) for i in range(1, steps))
    return max(0.0, 0.5 - (density(0) + inner + density(abs(t))) * width / 3)


def paired_p(pairs):
    differences = [b - a for a, b in pairs]
    count = len(differences)
    mean = sum(differences) / count
    deviation = math.sqrt(sum((d - mean) ** 2 for d in differences) / (count - 1))
    return 2 * student_tail(mean / (deviation / math.sqrt(count)), count - 1)


class Comparison:
    def __init__(self, perfleet, turns, commands):
        with tempfile.TemporaryDirectory() as data:
            def ask(*words):
                return rows_of(json.loads(subprocess.run([perfleet, *words, "--data", data, "--format", "json"],
                                                         check=True, capture_output=True).stdout))
            words = [word for command in commands for word in (":::", *command)][1:]
            rows = rows_of(json.loads(subprocess.run(
                [perfleet, "compare", "--data", data, "--format", "json", "-n", str(turns), "--", *words],
                check=True, capture_output=True).stdout))
            primary = next(row for row in rows if row["primary"] == "yes")
            self.is_shown = primary["p_adjusted"] < LEVEL
            self.p = primary["p"]
            labels = {row["session"]: dict(label.split("=", 1) for label in row["labels"].split(",") if "=" in label)
                      for row in ask("sessions", "--all")}
            turns_of = {}
            for row in ask("latency", "--all", "--event", "elapsed"):
                of_session = labels[row["session"]]
                turns_of.setdefault(of_session["turn"], {})[of_session["side"]] = row["mean"]
            self.pairs = [(turn["A"], turn["B"]) for turn in turns_of.values()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("what", choices=["equal", "gzip"])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--turns", type=int)
    parser.add_argument("--stress", type=int, default=4)
    options = parser.parse_args()
    perfleet = os.path.join(options.programs, "perfleet")
    if options.what == "equal":
        rounds = options.rounds or 1000
        shown = sum(Comparison(perfleet, options.turns or 10, [["true"], ["true"]]).is_shown for _ in range(rounds))
        bound = 0.05 * rounds + 2.3 * math.sqrt(rounds * 0.05 * 0.95)
        print(f"{shown} of {rounds} comparisons of equal commands are shown (at most {bound:.0f})")
        return shown > bound
    with tempfile.TemporaryDirectory() as folder:
        content = b"".join(b"%d %d\n" % (i, i * i * 7919 % 1000003) for i in range(200_000))
        paths = []
        for name, size in (("before", 1_000_000), ("after", 1_050_000)):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "wb") as file:
                file.write(content[:size])
        stress = subprocess.Popen(["stress-ng", "--quiet", "--cpu", str(options.stress)]) if options.stress else None
        shown = by_t = 0
        apart = 0.0
        rounds = options.rounds or 30
        try:
            for _ in range(rounds):
                comparison = Comparison(perfleet, options.turns or 30, [["gzip", "-1c", path] for path in paths])
                shown += comparison.is_shown
                expected = paired_p(comparison.pairs)
                by_t += expected < LEVEL
                apart = max(apart, abs(expected - comparison.p))
        finally:
            if stress:
                stress.terminate()
                stress.wait()
    print(f"gzip of 5 % more: shown in {shown} of {rounds} comparisons, by a paired t test of their values in {by_t}; "
          f"their p differ by {apart:.2g} at most")
    return shown < by_t


if __name__ == "__main__":
    sys.exit(main())
