#!/usr/bin/env python3
"""How many call chains of real programs, most without frame pointers, are whole, beside perf's DWARF mode.

For each program: the share of samples in user space whose chain begins where programs and threads begin, of `perfleet
record --call-graph` fp, bpf and dwarf, and of `perf record --call-graph dwarf` with the same size of the stack's copy.
With --why also how the others begin. A program is run again until the seconds have passed, by a shell that counts, too.
With --cost: what a sample of the whole machine costs the collector with each of them, beside perf; and the BPF program.
With --slowdown: how much more CPU time the profiled program itself takes than alone, beside `perf record -g`.
"""
import argparse
import collections
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

# The first frames of programs, of the loader, of threads, and of Go's threads and goroutines.
ENTRY = re.compile(r"(_start|__libc_start_main\w*|clone\w*|_dl_start\w*|start_thread|runtime\.(goexit|mstart|rt0_go)\w*)([@.].*)?$")
WITHOUT_NAMES = "[shfmt"  # Go, stripped: marked where its chains aren't whole
DEPTH = 3  # among the outermost frames: an entry without a symbol may stand behind it
MODES = ("fp", "bpf", "dwarf,8192", "dwarf,32768")

THROWER = """extern "C" int run(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        try { if (i % 3 == 0) throw i; sum += i; } catch (int caught) { sum -= caught; }
    }
    return sum;
}
"""
LOADER = """#include <dlfcn.h>
#include <cstdio>
int main(int, char** argv) {
    void* const library = dlopen(argv[1], RTLD_NOW);
    const auto run = reinterpret_cast<int (*)(int)>(library ? dlsym(library, "run") : nullptr);
    std::printf("%d\\n", run ? run(200'000) : -1);
}
"""
RECURSION = """def fall(depth):
    return fall(depth - 1) + 1 if depth else sum(i * i for i in range(30000))

for _ in range(30):
    fall(500)
"""
SCRIPT = """const words = {}; let text = '';
for (let i = 0; i < 200000; ++i) { text += ' ' + (i * 7919 % 5003); }
for (const word of text.split(' ')) { words[word] = (words[word] || 0) + 1; }
console.log(JSON.stringify(Object.entries(words).sort((a, b) => b[1] - a[1])).replace(/[0-3]/g, 'x').length);
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--frequency", type=int, default=999, help="Hz (default 999)")
    parser.add_argument("--seconds", type=int, default=10, help="of each program and mode (default 10; 0: each once)")
    parser.add_argument("--programs", help="some of them, by comma")
    parser.add_argument("--modes", default="/".join(MODES), help=f"some of {'/'.join(MODES)}")
    parser.add_argument("--why", action="store_true", help="list how chains begin that aren't whole")
    parser.add_argument("--cost", type=int, metavar="SECONDS", help="measure costs instead, each so long, of all that runs (root)")
    parser.add_argument("--slowdown", action="store_true", help="measure what the profiled program pays instead")
    parser.add_argument("--rounds", type=int, default=3, help="of --cost and --slowdown, in turns (default 3)")
    return parser.parse_args()


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def programs(folder):
    """Commands by name, each of less than a second."""
    text = write(folder, "text", "".join(f"{number * 2654435761 % 1000003}\n" for number in range(200_000)))
    shell = write(folder, "shell", "if true; then\n  for i in a b; do echo \"$((1 + 2))\" | cat; done\nfi\n" * 5_000)
    short = write(folder, "short.c", "int main(void) { return 0; }\n")
    script = write(folder, "work.js", SCRIPT)
    recursion = write(folder, "recursion.py", RECURSION)
    thrower = os.path.join(folder, "libthrower.so")
    loader = os.path.join(folder, "loader")
    subprocess.run(["g++", "-O2", "-fPIC", "-shared", write(folder, "thrower.cpp", THROWER), "-o", thrower], check=True)
    subprocess.run(["g++", "-O2", write(folder, "loader.cpp", LOADER), "-o", loader], check=True)
    counted = "with recursive c(x) as (select 1 union all select x+1 from c where x<500000)"
    known = {"xz": f"xz -6 -k -c {text}", "sqlite3": f"sqlite3 :memory: '{counted} select count(distinct x%1000) from c'",
             "git": f"git -C {os.getcwd()} log --stat -n 150", "g++": "g++ -O2 -x c++ -c -o /dev/null - <<< '#include <regex>'",
             "gcc": f"gcc -x c -c -o {folder}/short.o {short}", "python3": "/usr/bin/python3 -c 'print(sum(i*i for i in range(3000000)))'",
             "python3 500": f"/usr/bin/python3 {recursion}", "node": f"node {script}", "node names": f"node --perf-basic-prof --logfile={folder}/v8.log --no-logfile-per-isolate --interpreted-frames-native-stack {script}",
             "shfmt": f"shfmt {shell}", "rg": f"rg -c '(1|2)+9.*[0-4]$' {text}", "C++ throws": f"{loader} {thrower}", "sort": f"sort {text}"}
    return {name: command for name, command in known.items() if shutil.which(command.split()[0])}


def is_whole(frames):
    return any(ENTRY.search(frame) for frame in frames[:DEPTH]) or any(frame.startswith(WITHOUT_NAMES) for frame in frames[:1])


def share(chains):
    total = sum(count for _, count in chains)
    whole = sum(count for frames, count in chains if is_whole(frames))
    return f"{100 * whole / total:.1f} % of {total}" if total else "no samples"


def print_others(chains):
    others = collections.Counter()
    for frames, count in chains:
        if not is_whole(frames):
            others[";".join(frames[:DEPTH])] += count
    for begins, count in others.most_common(8):
        print(f"    {count:6} {begins}")


def repeated(command, seconds):
    return ["bash", "-c", f"end=$((SECONDS+{seconds})); while {command} > /dev/null; ((SECONDS<end)); do :; done"]


def chains_of_perfleet(perfleet, folder, options, mode, command):
    data = tempfile.mkdtemp(dir=folder)
    subprocess.run([perfleet, "record", "-q", "--data", data, "-e", "cpu-clock:u", "-F", str(options.frequency), "--call-graph",
                    mode, "--", *repeated(command, options.seconds)], check=True)
    text = subprocess.run([perfleet, "export", "--data", data, "--to", "folded", "-o", "-"], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    lines = [line.rsplit(" ", 1) for line in text.splitlines()]
    return [(stack.split(";")[1:], int(count)) for stack, count in lines]


def chains_of_perf(folder, options, mode, command):
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-o", data, "-e", "cpu-clock:u", "-F", str(options.frequency), "--call-graph", mode, "--",
                    *repeated(command, options.seconds)], check=True, stderr=subprocess.DEVNULL)
    text = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym"], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    return [([line.split(maxsplit=1)[1] for line in reversed(sample.splitlines()[1:])], 1)
            for sample in text.strip().split("\n\n") if sample]


def bpf_run_times(pid):
    """Run time in ns and number of runs of the BPF programs that a process has open."""
    time_ns = runs = 0
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except FileNotFoundError:  # closed since
            continue
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


def victim_cpu_s(profiler, folder):
    """CPU time of a program that a command runs behind it, to the millisecond: its interrupts are in it."""
    times = os.path.join(folder, "times")
    text = os.path.join(folder, "text")
    program = f"TIMEFORMAT='%U %S'; {{ time xz -6 -k -c {text} > /dev/null; }} 2> {times}"
    subprocess.run([*profiler, "bash", "-c", program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(times, encoding="ascii") as file:
        return sum(float(word) for word in file.read().split())


def print_slowdown(options):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "text", "".join(f"{number * 2654435761 % 1000003}\n" for number in range(700_000)))
        rate = ["-e", "cpu-clock", "-F", str(options.frequency)]
        profilers = {"alone": [], "perf record -g": ["perf", "record", "-q", "-o", os.path.join(folder, "perf.data"), *rate, "-g", "--"]}
        for mode in ("fp", "bpf"):
            profilers[f"perfleet {mode}"] = [os.path.join(options.bin, "perfleet-collector"), "--output", os.path.join(folder, "frames"),
                                             "--force", *rate, "--call-graph", mode, "--"]
        taken = {name: [] for name in profilers}
        for _ in range(options.rounds):
            for name, profiler in profilers.items():
                taken[name].append(victim_cpu_s(profiler, folder))
        alone = statistics.median(taken["alone"])
        for name, values in taken.items():
            show(name, {"CPU s": statistics.median(values), "least": min(values),
                        "% more than alone": 100 * (statistics.median(values) / alone - 1),
                        "of the least": 100 * (min(values) / min(taken["alone"]) - 1)})


def show(name, figures):
    print(f"{name:15}", ", ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}"
                                  for key, value in figures.items()), flush=True)


def main():
    options = parse_arguments()
    if options.cost or options.slowdown:
        (print_costs if options.cost else print_slowdown)(options)
        return
    perfleet = os.path.join(options.bin, "perfleet")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in programs(folder).items():
            if options.programs and name not in options.programs.split(","):
                continue
            for mode in options.modes.split("/"):
                chains = chains_of_perfleet(perfleet, folder, options, mode, command)
                of_perf = "has none" if mode == "bpf" else share(chains_of_perf(folder, options, mode, command))
                print(f"{name:11} {mode:12} perfleet {share(chains):20} perf {of_perf}", flush=True)
                if options.why:
                    print_others(chains)


if __name__ == "__main__":
    main()
