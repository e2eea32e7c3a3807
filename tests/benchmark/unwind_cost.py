#!/usr/bin/env python3
"""What call chains cost a sample of one program, built with frame pointers and without, beside perf.

In turns: the collector by frame pointers, by BPF and by copies of the stack, perf record -g, and its DWARF mode with perf
report. Of each: CPU time and the BPF program's run time a sample, bytes on the wire or in the file. Needs root.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

from call_chains import bpf_run_times, cpu_s, show, write

PROGRAM = """#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
volatile uint64_t sink;
[[gnu::noinline]] uint64_t leaf(uint64_t x, int n) {
    for (int i = 0; i < n; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}
template <int N> [[gnu::noinline]] uint64_t down(uint64_t x, int which) {
    volatile char bytes[16 * (N % 5 + 1)];
    bytes[0] = char(x);
    const uint64_t y = leaf(x, 40 + bytes[0] % 3);
    const uint64_t r = down<N - 1>(y ^ which, which * 3 + 1);
    sink = sink + r;
    return r + leaf(r, 20);
}
template <> [[gnu::noinline]] uint64_t down<0>(uint64_t x, int) {
    const std::string s = "k" + std::to_string(x % 1000);
    return leaf(x, 2000) + s.size();
}
int main(int, char** argv) {
    const auto end = clock() + clock_t(atof(argv[1]) * CLOCKS_PER_SEC);
    uint64_t x = 1;
    for (int i = 0; clock() < end; ++i) x = down<17>(x, i);
    return x == 0;
}
"""


def cost_of_perfleet(collector, folder, mode, program, options):
    output = os.path.join(folder, "frames")
    process = subprocess.Popen([collector, "--output", output, "--force", "-e", "cpu-clock", "-F", str(options.frequency),
                                "--call-graph", mode, "--no-keep-symbols", "--", program,
                                str(options.seconds)], stderr=subprocess.PIPE, text=True)
    time_ns = runs = 0
    while process.poll() is None:
        now_ns, now_runs = bpf_run_times(process.pid)
        if now_runs >= runs:  # it isn't open any more when the collector ends
            time_ns, runs = now_ns, now_runs
        time.sleep(options.seconds / 20)
    text = process.stderr.read()
    used_s = float(re.search(r"([\d.]+) s of own CPU", text).group(1))
    samples = int(re.search(r"(\d+) rows", text).group(1))
    bpf_us = time_ns / runs / 1000 if runs else 0.0
    return {"us a sample": 1e6 * used_s / samples + bpf_us, "of it BPF": bpf_us, "bytes a sample": os.path.getsize(output) / samples}


def cost_of_perf(folder, mode, program, options):
    data = os.path.join(folder, "perf.data")
    with subprocess.Popen([program, str(options.seconds)]) as profiled:
        used_s = cpu_s(subprocess.Popen(["perf", "record", "-q", "-o", data, "-e", "cpu-clock", "-F", str(options.frequency),
                                         "--call-graph", mode, "-p", str(profiled.pid)], stderr=subprocess.DEVNULL))
    with subprocess.Popen(["perf", "report", "-i", data, "--stdio", "--no-inline"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as report:
        text = report.stdout.read()
        report_s = cpu_s(report)
        report.returncode = 0
    samples = int(float(re.search(r"Event count.*: (\d+)", text).group(1)) * options.frequency / 1e9)
    return {"us a sample": 1e6 * used_s / samples, "with perf report": 1e6 * (used_s + report_s) / samples,
            "bytes a sample": os.path.getsize(data) / samples}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--before", help="folder of programs to hold them against")
    parser.add_argument("--frequency", type=int, default=4999, help="Hz (default 4999)")
    parser.add_argument("--seconds", type=float, default=8, help="of each run (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="in turns; medians are shown (default 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = write(folder, "deep.cpp", PROGRAM)
        programs = {}
        for name, option in (("fp", "-fno-omit-frame-pointer"), ("no fp", "-fomit-frame-pointer")):
            programs[name] = os.path.join(folder, name.replace(" ", "_"))
            subprocess.run(["g++", "-O2", option, source, "-o", programs[name]], check=True)
        runs = {}
        for label, folder_of_programs in (("before", options.before), ("now", options.bin)):
            if folder_of_programs:
                collector = os.path.join(folder_of_programs, "perfleet-collector")
                for mode, program in (("fp", "fp"), ("bpf", "fp"), ("bpf", "no fp"), ("dwarf", "no fp")):
                    runs[f"{label}: {mode} of {program}"] = lambda c=collector, m=mode, p=program: cost_of_perfleet(
                        c, folder, m, programs[p], options)
        runs["perf -g of fp"] = lambda: cost_of_perf(folder, "fp", programs["fp"], options)
        runs["perf dwarf of no fp"] = lambda: cost_of_perf(folder, "dwarf", programs["no fp"], options)
        with open("/proc/sys/kernel/bpf_stats_enabled", "w", encoding="ascii") as file:
            file.write("1")
        try:
            found = {name: [] for name in runs}
            for _ in range(options.rounds):
                for name, run in runs.items():
                    found[name].append(run())
        finally:
            with open("/proc/sys/kernel/bpf_stats_enabled", "w", encoding="ascii") as file:
                file.write("0")
        for name, figures in found.items():
            show(name, {key: statistics.median(one[key] for one in figures) for key in figures[0]})


if __name__ == "__main__":
    main()
