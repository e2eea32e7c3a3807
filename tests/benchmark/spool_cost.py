#!/usr/bin/env python3
"""CPU time that the collector itself takes per row, with the spool on disk beside the one in memory.

The two take turns on the same load, getppid system calls under a tracepoint that takes each of them, against a gateway that is there. Printed:
each run's own CPU time over its rows as the collector says them, and the ratio of the medians.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

SUMMARY = re.compile(r"perfleet-collector: (\d+) rows,.* (\d+) lost.*; ([\d.]+) s of own CPU")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--calls", type=int, default=1_000_000, help="system calls of each run (default 1000000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default 5)")
    return parser.parse_args()


def measure(options, endpoint, spool):
    workload = os.path.join(options.bin, "..", "test-bin", "getppid_workload")
    command = [os.path.join(options.bin, "perfleet-collector"), "--gateway", endpoint, "-e", "syscalls:sys_enter_getppid", "-c", "1",
               "-g"] + spool + ["--", workload, str(options.calls)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    match = SUMMARY.search(ended.stderr)
    if ended.returncode or not match:
        sys.exit(f"the collector ended with {ended.returncode}:\n{ended.stderr}")
    rows = int(match.group(1)) - int(match.group(2))
    return float(match.group(3)) / rows * 1e9, rows


def main():
    options = parse_arguments()
    if os.geteuid() != 0:
        print("tracepoints need root: nothing was measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        gateway = subprocess.Popen([os.path.join(options.bin, "perfleet-gateway"), "--data", os.path.join(folder, "store"), "--listen",
                                    "tcp://127.0.0.1:*", "--query", "none"], stdout=subprocess.PIPE, text=True)
        try:
            endpoint = re.search(r"listen=(\S+)", gateway.stdout.readline()).group(1)
            costs = {"memory": [], "disk": []}
            for _ in range(options.rounds):
                for kind, spool in (("memory", []), ("disk", ["--spool", os.path.join(folder, "spool")])):
                    cost_ns, rows = measure(options, endpoint, spool)
                    costs[kind].append(cost_ns)
                    print(f"spool in {kind:6}  {cost_ns:7.1f} ns of own CPU a row  {rows} rows", flush=True)
        finally:
            gateway.terminate()
            gateway.wait()
    ratio = statistics.median(costs["disk"]) / statistics.median(costs["memory"])
    print(f"disk over memory, medians: {ratio:.3f}")


if __name__ == "__main__":
    main()
