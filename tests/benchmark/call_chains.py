#!/usr/bin/env python3
"""How many call chains of Debian's own programs, which have no frame pointers, are whole, beside perf's DWARF mode.

For each program: the share of samples whose chain begins where programs and threads begin, of `perfleet record
--call-graph` fp and dwarf, and of `perf record --call-graph dwarf` with the same size of the stack's copy.
"""
import argparse
import os
import re
import subprocess
import tempfile

ENTRY = re.compile(r"(_start|main|__libc_start\w*|clone\w*|start_thread)(@plt)?$")
DEPTH = 3  # among the outermost frames: an entry without a symbol may stand behind it


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--frequency", type=int, default=999, help="Hz (default 999)")
    parser.add_argument("--scale", type=float, default=1, help="length of the programs' work (default 1: about a second)")
    return parser.parse_args()


def programs(scale, folder):
    text = os.path.join(folder, "text")
    with open(text, "w", encoding="ascii") as file:
        for number in range(int(600_000 * scale)):
            file.write(f"{number * 2654435761 % 1000003}\n")
    squares = int(5_000_000 * scale)
    counted = f"with recursive c(x) as (select 1 union all select x+1 from c where x<{int(2_000_000 * scale)})"
    return {"xz": f"xz -6 -k -c {text}", "python3": f"/usr/bin/python3 -c 'print(sum(i*i for i in range({squares})))'",
            "sqlite3": f"sqlite3 :memory: '{counted} select count(distinct x%1000) from c'", "sort": f"sort {text}"}


def share(chains):
    total = sum(count for _, count in chains)
    whole = sum(count for frames, count in chains if any(ENTRY.search(frame) for frame in frames[:DEPTH]))
    return f"{100 * whole / total:.1f} % of {total}" if total else "no samples"


def chains_of_perfleet(perfleet, folder, frequency, mode, command):
    data = tempfile.mkdtemp(dir=folder)
    subprocess.run([perfleet, "record", "-q", "--data", data, "-e", "cpu-clock:u", "-F", str(frequency), "--call-graph", mode,
                    "--", "sh", "-c", f"{command} > /dev/null"], check=True)
    text = subprocess.run([perfleet, "export", "--data", data, "--to", "folded", "-o", "-"], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    lines = [line.rsplit(" ", 1) for line in text.splitlines()]
    return [(stack.split(";")[1:], int(count)) for stack, count in lines]


def chains_of_perf(folder, frequency, mode, command):
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-o", data, "-e", "cpu-clock:u", "-F", str(frequency), "--call-graph", mode, "--", "sh",
                    "-c", f"{command} > /dev/null"], check=True, stderr=subprocess.DEVNULL)
    text = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym"], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    return [([line.split(maxsplit=1)[1] for line in reversed(sample.splitlines()[1:])], 1)
            for sample in text.strip().split("\n\n") if sample]


def main():
    options = parse_arguments()
    perfleet = os.path.join(options.bin, "perfleet")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in programs(options.scale, folder).items():
            if subprocess.run(["which", name], stdout=subprocess.DEVNULL, check=False).returncode != 0:
                print(f"{name}: not installed")
                continue
            for mode in ("fp", "dwarf,8192", "dwarf,32768"):
                print(f"{name:8} {mode:12} perfleet {share(chains_of_perfleet(perfleet, folder, options.frequency, mode, command)):20}",
                      f"perf {share(chains_of_perf(folder, options.frequency, mode, command))}", flush=True)


if __name__ == "__main__":
    main()
