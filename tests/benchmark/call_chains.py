#!/usr/bin/env python3
"""How many call chains of Debian's own programs, which have no frame pointers, are whole, beside perf's DWARF mode.

For each program: the share of samples whose chain begins where programs and threads begin, of `perfleet record
--call-graph` fp, bpf and dwarf, and of `perf record --call-graph dwarf` with the same size of the stack's copy.
With --cost: what a sample of the whole machine costs the collector with each of them, beside perf; and the BPF program.
"""
import argparse
import os
import re
import subprocess
import tempfile
import time

ENTRY = re.compile(r"(_start|main|__libc_start\w*|clone\w*|start_thread)(@plt)?$")
DEPTH = 3  # among the outermost frames: an entry without a symbol may stand behind it


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--frequency", type=int, default=999, help="Hz (default 999)")
    parser.add_argument("--scale", type=float, default=1, help="length of the programs' work (default 1: about a second)")
    parser.add_argument("--cost", type=int, metavar="SECONDS", help="measure costs instead, each so long, of all that runs (root)")
    parser.add_argument("--rounds", type=int, default=3, help="of --cost, in turns (default 3)")
    return parser.parse_args()


def programs(scale, folder):
    text = os.path.join(folder, "text")
    with open(text, "w", encoding="ascii") as file:
        for number in range(int(600_000 * scale)):
            file.write(f"{number * 2654435761 % 1000003}\n")
    squares = int(5_000_000 * scale)
    counted = f"with recursive c(x) as (select 1 union all select x+1 from c where x<{int(2_000_000 * scale)})"
    return {"xz": f"xz -6 -k -c {text}", "python3": f"/usr/bin/python3 -c 'print(sum(i*i for i in range({squares})))'",
            "git": f"git -C {os.getcwd()} log --stat -n {int(600 * scale)}",
            "g++": "sh -c 'for i in 1 2 3 4; do echo \"#include <regex>\" | g++ -O2 -x c++ -c -o /dev/null -; done'",
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


def bpf_run_times(pid):
    """Run time in ns and number of runs of the BPF programs that a process has open."""
    time_ns = runs = 0
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        time_ns += int(fields.get("run_time_ns", 0))
        runs += int(fields.get("run_cnt", 0))
    return time_ns, runs


def cpu_s(process):
    """Waits for its end: CPU time of a process."""
    usage = os.wait4(process.pid, 0)[2]
    return usage.ru_utime + usage.ru_stime


def cost_of_perfleet(collector, folder, frequency, mode, seconds):
    output = os.path.join(folder, "frames")
    process = subprocess.Popen([collector, "--output", output, "--force", "-a", "-e", "cpu-clock", "-F", str(frequency),
                                "--call-graph", mode, "--duration", str(seconds)], stderr=subprocess.PIPE, text=True)
    time.sleep(seconds - 0.3)
    time_ns, runs = bpf_run_times(process.pid)
    text = process.stderr.read()
    used_s = cpu_s(process)
    samples = int(re.search(r"(\d+) rows", text).group(1))
    bpf_us = time_ns / runs / 1000 if runs else 0
    return {"us a sample": 1e6 * used_s / samples + bpf_us, "of it BPF": bpf_us, "bytes a row": os.path.getsize(output) / samples,
            "rows": samples}


def cost_of_perf(folder, frequency, mode, seconds):
    data = os.path.join(folder, "perf.data")
    used_s = cpu_s(subprocess.Popen(["perf", "record", "-q", "-o", data, "-a", "-e", "cpu-clock", "-F", str(frequency), "--call-graph",
                                     mode, "--", "sleep", str(seconds)], stderr=subprocess.DEVNULL))
    with subprocess.Popen(["perf", "script", "-i", data, "-F", "ip"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as script:
        samples = script.stdout.read().count("\n\n")
        script_s = cpu_s(script)
        script.returncode = 0
    return {"us a sample": 1e6 * used_s / samples, "with perf script": 1e6 * (used_s + script_s) / samples,
            "bytes a row": os.path.getsize(data) / samples, "rows": samples}


def print_costs(options):
    collector = os.path.join(options.bin, "perfleet-collector")
    with open("/proc/sys/kernel/bpf_stats_enabled", "w", encoding="ascii") as file:
        file.write("1")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.rounds):
                for mode in ("fp", "bpf", "dwarf"):
                    show(f"perfleet {mode}", cost_of_perfleet(collector, folder, options.frequency, mode, options.cost))
                for mode in ("fp", "dwarf"):
                    show(f"perf {mode}", cost_of_perf(folder, options.frequency, mode, options.cost))
    finally:
        with open("/proc/sys/kernel/bpf_stats_enabled", "w", encoding="ascii") as file:
            file.write("0")


def show(name, figures):
    print(f"{name:15}", ", ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}"
                                  for key, value in figures.items()), flush=True)


def main():
    options = parse_arguments()
    if options.cost:
        print_costs(options)
        return
    perfleet = os.path.join(options.bin, "perfleet")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in programs(options.scale, folder).items():
            if subprocess.run(["which", name], stdout=subprocess.DEVNULL, check=False).returncode != 0:
                print(f"{name}: not installed")
                continue
            for mode in ("fp", "bpf", "dwarf,8192", "dwarf,32768"):
                of_perf = "has none" if mode == "bpf" else share(chains_of_perf(folder, options.frequency, mode, command))
                print(f"{name:8} {mode:12} perfleet {share(chains_of_perfleet(perfleet, folder, options.frequency, mode, command)):20}",
                      f"perf {of_perf}", flush=True)


if __name__ == "__main__":
    main()
