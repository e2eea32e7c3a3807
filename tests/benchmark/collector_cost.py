#!/usr/bin/env python3
"""CPU time that the collector itself takes per sample, beside `perf record -z -a -g` on the same load.

The two take turns on one load (xz and sort on every CPU), so that a slow moment of the machine hits both. Printed: each run's own CPU
time (user + system) over its sample count, and the ratio of the medians. perf counts its samples itself; the collector's count is what the
store holds. Also the bytes a sample takes in the store, beside perf's compressed file. With three frequencies or more also the line through
the collector's CPU time by its samples: what it takes to start and end, what each sample adds, and how straight the line is.
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--seconds", type=float, default=10, help="length of each run (default 10)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--frequency", type=int, action="append", help="Hz, repeatable (default 999 and 9999)")
    return parser.parse_args()


def start_load(folder):
    text = os.path.join(folder, "text")
    if not os.path.exists(text):
        with open(text, "wb") as file:
            file.write(subprocess.run("head -c 6000000 /dev/urandom | base64", shell=True, check=True,
                                      stdout=subprocess.PIPE).stdout)
    commands = [f"while :; do xz -2 -T1 -c {text} >/dev/null; done", f"while :; do sort {text} >/dev/null; done"]
    return [subprocess.Popen(["sh", "-c", command], start_new_session=True) for command in commands]


def stop_load(load):
    for process in load:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(arguments, end=lambda process: None, **options):
    """Runs until it ends, or `end` has ended it; returns (own CPU seconds, peak KiB, stderr)."""
    with tempfile.TemporaryFile(mode="w+") as errors:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=errors, **options)
        end(process)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, errors.read()


def measure_perf(folder, frequency, seconds):
    data = os.path.join(folder, "perf.data")
    commands, to_perf = os.pipe()
    from_perf, answers = os.pipe()

    def record(process):
        """The seconds count from when it records: it answers then."""
        os.close(commands)
        os.close(answers)
        os.write(to_perf, b"enable\n")
        if not os.read(from_perf, 64):
            return  # it has ended
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)

    try:
        cpu_s, peak_kib, errors = run(["perf", "record", "-z", "-a", "-g", "-e", "cpu-clock", "-F", str(frequency), "-o", data, "-D", "-1",
                                       "--control", f"fd:{commands},{answers}"], record, pass_fds=(commands, answers))
    finally:
        os.close(to_perf)
        os.close(from_perf)
    match = re.search(r"\((\d+) samples\)", errors)
    # With -z perf prints no count: ask the file.
    if match:
        samples = int(match.group(1))
    else:
        stats = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True, check=True).stdout
        samples = int(re.search(r"SAMPLE events:\s+(\d+)", stats).group(1))
    return cpu_s, peak_kib, samples, os.path.getsize(data)


def store_size_bytes(folder):
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names)


def measure_perfleet(options, folder, frequency, seconds):
    data = os.path.join(folder, "store")
    shutil.rmtree(data, ignore_errors=True)
    gateway = subprocess.Popen([os.path.join(options.bin, "perfleet-gateway"), "--data", data, "--listen", "tcp://127.0.0.1:*",
                                "--query", "none"], stdout=subprocess.PIPE, text=True)
    try:
        endpoint = re.search(r"listen=(\S+)", gateway.stdout.readline()).group(1)
        cpu_s, peak_kib, errors = run([os.path.join(options.bin, "perfleet-collector"), "--gateway", endpoint, "-a", "-g",
                                       "-e", "cpu-clock", "-F", str(frequency), "--duration", str(seconds)])
    finally:
        gateway.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(gateway.pid, 0)
        gateway.returncode = 0
    answer = subprocess.run([os.path.join(options.bin, "perfleet"), "top", "--data", data, "--format", "json"],
                            capture_output=True, text=True, check=True).stdout
    ledger = json.loads(answer)["ledger"]
    if ledger["stored"] == 0:
        sys.exit("no samples were stored; the collector said:\n" + errors)
    return cpu_s, peak_kib, ledger["stored"], usage.ru_utime + usage.ru_stime


def line_through(points):
    """(at 0, slope, R squared) by least squares."""
    xs, ys = zip(*points)
    slope, at_0 = statistics.linear_regression(xs, ys)
    return at_0, slope, statistics.correlation(xs, ys) ** 2


def main():
    options = parse_arguments()
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for frequency in options.frequency or [999, 9999]:
            costs = {"perf record -z": [], "perfleet-collector": []}
            for _ in range(options.rounds):
                load = start_load(folder)
                try:
                    cpu_s, peak_kib, samples, size_bytes = measure_perf(folder, frequency, options.seconds)
                    costs["perf record -z"].append(cpu_s / samples * 1e6)
                    print(f"{frequency} Hz  perf record -z      {cpu_s / samples * 1e6:7.3f} us a sample  {samples} samples  "
                          f"{peak_kib} KiB  {size_bytes / samples:.1f} B a sample in its file", flush=True)
                    cpu_s, peak_kib, samples, gateway_s = measure_perfleet(options, folder, frequency, options.seconds)
                    costs["perfleet-collector"].append(cpu_s / samples * 1e6)
                    points.append((samples, cpu_s))
                    print(f"{frequency} Hz  perfleet-collector  {cpu_s / samples * 1e6:7.3f} us a sample  {samples} samples  "
                          f"{peak_kib} KiB  (gateway {gateway_s / samples * 1e6:.3f} us a sample)", flush=True)
                finally:
                    stop_load(load)
            ratio = statistics.median(costs["perfleet-collector"]) / statistics.median(costs["perf record -z"])
            print(f"{frequency} Hz  ratio of medians: {ratio:.2f}", flush=True)
    if len(set(options.frequency or [])) > 2:
        at_0, slope, fit = line_through(points)
        print(f"perfleet-collector  {at_0 * 1e3:.0f} ms to start and end + {slope * 1e6:.3f} us a sample, R^2 {fit:.4f}")


if __name__ == "__main__":
    main()
