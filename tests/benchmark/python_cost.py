#!/usr/bin/env python3
"""The cost of Python's frames in call chains per sample, beside a build without them (--before), in turns.

For each program: the BPF program's run time, the collector's CPU, bytes on the wire. Needs root.
"""
import argparse
import os
import re
import subprocess
import tempfile
import time

from call_chains import bpf_run_times, cpu_s, show

LOOP = "def leaf(n):\n s=0\n for i in range(n): s+=i*i\n return s\n"
PROGRAMS = {
    "one frame": LOOP + "while True: leaf(3000)",
    "recursion of 20": LOOP + "def f(d): return leaf(3000) if d==0 else f(d-1)\nwhile True: f(20)",
    "8 times through C": LOOP + "def f(d): return leaf(3000) if d==0 else max(map(f,(d-1,)))\nwhile True: f(8)",
}


def cost(collector, folder, text, options):
    output = os.path.join(folder, "frames")
    with subprocess.Popen(["/usr/bin/python3", "-c", text]) as profiled:
        try:
            process = subprocess.Popen([collector, "--output", output, "--force", "-e", "cpu-clock:u", "-F", str(options.frequency),
                                        "--call-graph", "bpf", "-p", str(profiled.pid)], stderr=subprocess.PIPE, text=True)
            while process.poll() is None and bpf_run_times(process.pid)[1] == 0:
                time.sleep(0.05)
            time.sleep(options.seconds)
            time_ns, runs = bpf_run_times(process.pid)
        finally:
            profiled.kill()
        rows = int(re.search(r"(\d+) rows", process.stderr.read()).group(1))
        used_s = cpu_s(process)
    return {"BPF us a sample": time_ns / max(runs, 1) / 1000, "collector us a row": 1e6 * used_s / rows,
            "bytes a row": os.path.getsize(output) / rows, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--before", help="folder of programs to hold them against")
    parser.add_argument("--frequency", type=int, default=4999, help="Hz (default 4999)")
    parser.add_argument("--seconds", type=int, default=4, help="of each run (default 4)")
    parser.add_argument("--rounds", type=int, default=3, help="in turns (default 3)")
    options = parser.parse_args()
    stats = "/proc/sys/kernel/bpf_stats_enabled"
    with open(stats, "w", encoding="ascii") as file:
        file.write("1")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in PROGRAMS.items():
                for _ in range(options.rounds):
                    for folder_of_programs in filter(None, (options.before, options.bin)):
                        collector = os.path.join(folder_of_programs, "perfleet-collector")
                        show(f"{name}, {'before' if folder_of_programs == options.before else 'now'}",
                             cost(collector, folder, text, options))
    finally:
        with open(stats, "w", encoding="ascii") as file:
            file.write("0")


if __name__ == "__main__":
    main()
