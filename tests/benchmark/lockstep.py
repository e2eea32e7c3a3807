#!/usr/bin/env python3
"""How far a loop in step with the sampling period is off: ten equal phases, and how often each is sampled.

A loop of a millisecond, each tenth of it in a function of its own (by the clock), is sampled with -c 1000000: without
jitter and with --jitter as it is by default. It prints the least and the most often sampled
phase, and how probable the counts are if all phases are equally probable (chi-square, 9 degrees of freedom). A sample
of a thread that was preempted comes late whatever the period: a busy machine shifts phases, too.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile

PHASES = 10
SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
static uint64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
#define PHASE(n) __attribute__((noinline)) void phase_##n(uint64_t end) { while (now() < end) { for (volatile int i = 0; i < 2000; ++i) {} } asm volatile(""); }
PHASE(0) PHASE(1) PHASE(2) PHASE(3) PHASE(4) PHASE(5) PHASE(6) PHASE(7) PHASE(8) PHASE(9)
int main(int c, char** v) {
    void (*phases[])(uint64_t) = {phase_0, phase_1, phase_2, phase_3, phase_4, phase_5, phase_6, phase_7, phase_8, phase_9};
    const uint64_t begin = now(), end = begin + (uint64_t)(atof(v[1]) * 1e9), loop = strtoull(v[2], 0, 10);
    for (uint64_t at = begin; at < end; at += loop)
        for (int i = 0; i < 10; ++i) phases[i](at + loop / 10 * (i + 1));
}
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--seconds", type=float, default=2, help="of each recording (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="in turns (default 3)")
    parser.add_argument("--period", type=int, default=1_000_000, help="ns of the loop and of -c (default 1000000)")
    return parser.parse_args()


def probability(chi_square, degrees):
    """That it is at least so much: the upper incomplete gamma function, by its series."""
    x, a = chi_square / 2, degrees / 2
    if x <= 0:
        return 1.0
    term = total = 1 / a
    n = a
    while term > total * 1e-15:
        n += 1
        term *= x / n
        total += term
    return max(0.0, 1 - total * math.exp(-x + a * math.log(x) - math.lgamma(a)))


def counts(perfleet, folder, program, arguments, options):
    data = tempfile.mkdtemp(dir=folder)
    subprocess.run([perfleet, "record", "-q", "--data", data, "-e", "cpu-clock:u", "-c", str(arguments.period), *options, "--",
                    "taskset", "-c", "0", program, str(arguments.seconds), str(arguments.period)], check=True)
    answer = json.loads(subprocess.run([perfleet, "top", "--data", data, "--by", "symbol", "--format", "json"], check=True,
                                       text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    # Without the few samples in the clock's own code.
    return [sum(row[3] for row in answer["rows"] if row[0] == f"phase_{phase}") for phase in range(PHASES)]


def main():
    arguments = parse_arguments()
    perfleet = os.path.abspath(os.path.join(arguments.bin, "perfleet"))
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "phases.c"), os.path.join(folder, "phases")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-O1", "-o", program, source], check=True)
        for _ in range(arguments.rounds):
            for name, options in (("without", ["--jitter", "0"]), ("with jitter", [])):
                found = counts(perfleet, folder, program, arguments, options)
                mean = sum(found) / PHASES
                chi_square = sum((count - mean) ** 2 / mean for count in found) if mean else 0.0
                print(f"{name:12} {min(found)} to {max(found)} of {sum(found)} samples a phase; chi-square {chi_square:.1f}, "
                      f"p {probability(chi_square, PHASES - 1):.3g}")


main()
