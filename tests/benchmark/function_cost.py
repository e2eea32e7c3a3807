#!/usr/bin/env python3
"""The cost of timing a function for the program that calls it: ns of its CPU time a call, beside perf's own uprobes.

    tests/benchmark/function_cost.py --build build/release

Needs root, uprobes and perf. Runs all ways in turns and prints medians. `push` begins with an instruction that the
kernel emulates; it steps over the first ones of `leaf` and `thrower`, and over return instructions. An exception may pass
`thrower`: no uretprobe can stand there.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

EVENTS = "/sys/kernel/tracing/uprobe_events"
GROUP = "perfleet_function_cost"
SYMBOLS = {"push": "begins_with_push", "leaf": "_ZN4work4sameEi", "thrower": "_ZN4work7throwerEi"}


def file_offset(program: Path, symbol: str) -> int:
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    address = int(next(line.split()[0] for line in names.splitlines() if line.endswith(f" {symbol}")), 16)
    headers = subprocess.run(["readelf", "-lW", program], check=True, capture_output=True, text=True).stdout
    for offset, start, size in re.findall(r"LOAD\s+(0x\S+)\s+(0x\S+)\s+0x\S+\s+(0x\S+)", headers):
        if int(start, 16) <= address < int(start, 16) + int(size, 16):
            return address - int(start, 16) + int(offset, 16)
    sys.exit(f"{symbol} lies in no segment")


def change_probes(line: str) -> None:
    descriptor = os.open(EVENTS, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def ns_per_call(command: list) -> float:
    finished = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return float(re.search(r"ns_per_call=(\S+)", finished.stdout + finished.stderr).group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    workload = (options.build / "test-bin/function_workload").resolve()
    perfleet = options.build / "bin/perfleet"
    with tempfile.TemporaryDirectory() as folder:
        for function, symbol in SYMBOLS.items():
            place = f"{workload}:{file_offset(workload, symbol):#x}"
            change_probes(f"p:{GROUP}/{function}_entry {place}")
            change_probes(f"r:{GROUP}/{function}_return {place}")
        try:
            for function, symbol in SYMBOLS.items():
                run = [workload, function, options.calls]
                latency = [perfleet, "latency", "--data", f"{folder}/store", "--function", f"{workload}:{symbol}"]
                entry = f"{GROUP}:{function}_entry"
                ways = {
                    "nothing": run,
                    "perf stat, entry": ["perf", "stat", "-e", entry, *run],
                    "perfleet --no-rows": [*latency, "--no-rows", "--", *run],
                    "perfleet, a row a call": [*latency, "--", *run],
                }
                if function != "thrower":
                    ways["perfleet --uretprobe --no-rows"] = [*latency, "--uretprobe", "--no-rows", "--", *run]
                    both = f"{entry},{GROUP}:{function}_return"
                    ways["perf stat, entry and return"] = ["perf", "stat", "-e", both, *run]
                taken = {way: [] for way in ways}
                for _ in range(options.rounds):
                    for way, command in ways.items():
                        taken[way].append(ns_per_call(command))
                print(f"{function}, {options.calls} calls, medians of {options.rounds}:")
                for way, values in taken.items():
                    print(f"  {statistics.median(values):9.1f} ns a call  {way}")
        finally:
            for function in SYMBOLS:
                for end in ("entry", "return"):
                    change_probes(f"-:{GROUP}/{function}_{end}")


if __name__ == "__main__":
    main()
