#!/usr/bin/env python3
"""Records that are lost with small kernel rings, beside `perf record` with rings of the same size.

A program makes system calls as fast as it can; each gives two tracepoint records. The collector and perf take turns. Printed: what each
run lost, and the medians.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile

EVENTS = "syscalls:sys_enter_getppid,syscalls:sys_exit_getppid"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--calls", type=int, default=3_000_000, help="of each run (default 3,000,000: 6 million records)")
    parser.add_argument("--pages", default="4", help="of the kernel's ring on each CPU (default 4)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default 5)")
    return parser.parse_args()


def workload(options):
    return os.path.join(options.bin, "..", "test-bin", "getppid_workload")


def run(arguments):
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)


def perf_loss(options, folder):
    data = os.path.join(folder, "perf.data")
    run(["perf", "record", "-o", data, "-m", options.pages, "-c", "1", "-e", EVENTS, "--", workload(options), str(options.calls)])
    stats = run(["perf", "report", "--stats", "-i", data]).stdout
    return sum(int(count) for count in re.findall(r"LOST_SAMPLES events: +(\d+)$", stats, re.MULTILINE))


def collector_loss(options, folder):
    frames = os.path.join(folder, "frames")
    said = run([os.path.join(options.bin, "perfleet-collector"), "--output", frames, "--ring-pages", options.pages, "-c", "1", "-e",
                EVENTS, "--", workload(options), str(options.calls)]).stderr
    lost = re.search(r"kernel_ring (\d+)", said)
    return int(lost.group(1)) if lost else 0


def main():
    options = parse_arguments()
    lost = {"perf record": [], "perfleet-collector": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, measure in (("perf record", perf_loss), ("perfleet-collector", collector_loss)):
                lost[name].append(measure(options, folder))
                print(f"{name}: {lost[name][-1]:,} of {2 * options.calls:,} records lost", flush=True)
    for name, counts in lost.items():
        print(f"{name}: median {statistics.median(counts):,.0f}, {statistics.median(counts) / options.calls / 2:.1%}")


if __name__ == "__main__":
    main()
