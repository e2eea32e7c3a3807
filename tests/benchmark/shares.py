#!/usr/bin/env python3
"""Samples and ledgers compared with the kernel's counts of the same work.

Runs programs whose CPU time, page faults or system calls are known (shares_load.c), sampled in all ways: of a command, of a process,
of the machine, by clocks, page faults, tracepoints and groups, at several rates. Weights of the rows, and what the ledger says is lost
or below a period, have to add up to what was used. Prints each run that is off by more than the bound, and at the end how many were,
and by how much at most. Exits with 1 where one was. Needs root and gcc.
"""
import argparse
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

LOST = ("not_delivered", "timer_late", "kernel_throttled", "kernel_ring", "ring_full", "saturated", "malformed")
LOADS = {  # kind: (count, amount), of about a second
    "loop": (200, 4000), "threads": (8, 100_000), "forks": (8, 100_000), "short": (300, 1500), "execs": (100, 1500),
    "faults": (10, 3000), "calls": (10, 20_000), "prctl": (20, 20_000)}
CLOCKS = ("cpu-clock", "task-clock")
NAME = f"shares_{os.getpid()}"  # of the programs; "exe" until one that is run anew has it
TRACEPOINT = "syscalls:sys_enter_getppid"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--minutes", type=float, default=1, help="default 1")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of runs (default 1)")
    parser.add_argument("--bound", type=float, default=2, help="percent (default 2), beside what sampling leaves to chance")
    parser.add_argument("--options", default="", help="more options of perfleet record, such as '--call-graph bpf'")
    parser.add_argument("--verbose", action="store_true", help="print each run")
    return parser.parse_args()


class Run:
    """One way to sample one load."""

    def __init__(self, chance):
        self.mode = chance.choice(("command", "command", "pid", "all"))
        self.load = chance.choice(sorted(LOADS))
        self.event = chance.choice(CLOCKS + (("page-faults",) if self.load in ("faults", "execs") else ())
                                   + ((TRACEPOINT,) * 2 if self.load == "calls" else ()))
        self.rate = chance.choice((["-F", "99"], ["-F", "999"], ["-F", "4999"])) if self.event in CLOCKS else \
            chance.choice((["-c", "1"], ["-c", "7"], ["-c", "100"], ["-F", "999"]))
        self.grouped = self.event in CLOCKS and chance.random() < 0.2
        self.chains = chance.choice(([], ["--call-graph", "fp"], ["--call-graph", "bpf"], ["--call-graph", "dwarf"]))
        count, amount = LOADS[self.load]
        self.count = max(1, int(count * chance.uniform(0.5, 1.5)))
        self.amount = max(1, int(amount * chance.uniform(0.5, 1.5)))

    def __str__(self):
        return f"{self.mode} {self.load} {self.count} {self.amount} -e {self.events()} {' '.join(self.rate + self.chains)}"

    def events(self):
        return f"{{{self.event},page-faults}}" if self.grouped else self.event

    def perform(self, options, folder):
        data = os.path.join(folder, "store")
        shutil.rmtree(data, ignore_errors=True)
        environment = dict(os.environ, SHARES_NAME=NAME)
        load = [os.path.join(folder, "shares_load"), self.load, str(self.count), str(self.amount)]
        record = [os.path.join(options.bin, "perfleet"), "record", "--data", data, "-e", self.events(), *self.rate,
                  *self.chains, *options.options.split()]
        if self.mode == "pid":
            begin, end = os.path.join(folder, "begin"), os.path.join(folder, "end")
            for fifo in (begin, end):
                if not os.path.exists(fifo):
                    os.mkfifo(fifo)
            with open(begin, "r+b", 0) as stdin, open(end, "r+b", 0) as stdout:
                program = subprocess.Popen(load, env=dict(environment, SHARES_WAIT="1"), stdin=stdin, stdout=stdout)
            record += ["-p", str(program.pid)]
            load = ["sh", "-c", f"exec 3< {end}; echo go > {begin}; cat <&3"]
        elif self.mode == "all":
            record += ["-a"]
        used = subprocess.run(record + ["--", *load], env=environment, capture_output=True, text=True, check=True, timeout=600).stdout
        truth = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", used)}
        name = "counted_ns" if self.event in CLOCKS else "faults" if self.event == "page-faults" else "calls"
        self.truth = truth[name]
        self.truth_max = max(self.truth, truth["cpu_ns"] if self.event in CLOCKS else 0)  # with the end of each process
        self.read(options, data)

    def read(self, options, data):
        def ask(*words):
            answer = json.loads(subprocess.run([os.path.join(options.bin, "perfleet"), *words, "--data", data, "--session", "last",
                                                "--format", "json"], check=True, capture_output=True, text=True).stdout)
            names = [column["name"] for column in answer["columns"]]
            return [dict(zip(names, row)) for row in answer["rows"]]

        rows = ask("top", "--by", "command", "--event", self.event)
        if self.mode == "all":
            names = (NAME, "exe", "prctl_even", "prctl_odd")
            rows = [row for row in rows if row["command"] in names]
        self.weight = sum(row["self"] for row in rows)
        self.samples = sum(row["self_samples"] for row in rows)
        losses = [row for row in ask("losses") if row["kind"] in ("sample", "tracepoint", "detailed_sample") and row["event"] == self.event]
        self.lost = sum(row.get(reason) or 0 for row in losses for reason in LOST)
        self.below = sum(row.get("below_period") or 0 for row in losses)
        self.losses = {k: v for row in losses for k, v in row.items() if isinstance(v, int) and v and k not in ("produced", "stored")}

    def period(self):
        if self.event in CLOCKS:
            return 1e9 / int(self.rate[1])
        return int(self.rate[1]) if self.rate[0] == "-c" else self.weight / max(self.samples, 1)

    def off(self, bound):
        """By how much more than the bound, as a share of the truth."""
        period = self.period()
        chance = 4 * math.sqrt(max(self.samples, 1)) if self.mode == "all" and period > 1 else 0
        slack = self.truth * bound / 100 + period * (4 + chance)
        if self.rate[0] == "-F" and self.event not in CLOCKS:
            slack += self.truth  # a period that the kernel adapts begins with 1
        low = self.weight + (self.lost + self.below) * period + slack
        high = self.weight + (0 if self.mode == "all" else self.lost * period) - slack
        return max(self.truth - low, high - self.truth_max, 0) / max(self.truth, 1)


def main():
    options = parse_arguments()
    chance = random.Random(options.seed)
    runs = worst = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shares_load.c")
        subprocess.run(["gcc", "-O2", "-pthread", source, "-o", os.path.join(folder, "shares_load")], check=True)
        end = time.monotonic() + options.minutes * 60
        while time.monotonic() < end:
            run = Run(chance)
            try:
                run.perform(options, folder)
            except (subprocess.SubprocessError, KeyError) as error:
                print(f"FAILED {run}: {error} {getattr(error, 'stderr', '')}", flush=True)
                bad += 1
                continue
            off = run.off(options.bound)
            runs += 1
            bad += off > 0
            worst = max(worst, off)
            if off > 0 or options.verbose:
                print(f"{'OFF ' + format(off, '.1%') if off > 0 else 'fits'} {run}: used {run.truth}, rows {run.weight} ({run.samples}), "
                      f"lost {run.lost}, below a period {run.below}: {(run.weight + (run.lost + run.below) * run.period()) / max(run.truth, 1):.1%} {run.losses}", flush=True)
    print(f"{runs} runs, {bad} off, at most {worst:.1%} beyond the bound")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
