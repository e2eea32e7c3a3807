#!/usr/bin/env python3
"""The memory of a collector of the whole machine while thousands of short processes a minute start and end.

Starts a gateway and `perfleet-collector -a -g`, then processes at an even pace. Prints once a minute the resident memory of the collector
(its helpers apart) and its CPU time, at the end how much it grew after the first two minutes, and what the store has lost. With
--fresh N one process in N runs a file that nobody has seen before, removed when it ends. Exits with 1 where memory grew by more than
--growth-max. Needs root.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COMMANDS = (["/bin/true"], ["/bin/sh", "-c", "/bin/true; :"], ["/usr/bin/xz", "--version"], ["/usr/bin/sort", "/etc/passwd"],
            ["/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--minutes", type=float, default=10, help="default 10")
    parser.add_argument("--per-minute", type=int, default=5000, help="processes that are started (default 5000)")
    parser.add_argument("--frequency", type=int, default=99, help="Hz (default 99)")
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="one process in N runs a new file (default 0: none)")
    parser.add_argument("--growth-max", type=float, default=16, help="MiB after the first two minutes: buffers that fill, tables of new programs (default 16)")
    return parser.parse_args()


def status_mib(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"{name}:\s+(\d+) kB", file.read()).group(1)) / 1024


def helpers_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_gateway(options, folder):
    gateway = subprocess.Popen([os.path.join(options.bin, "perfleet-gateway"), "--data", os.path.join(folder, "data"), "--listen",
                                "tcp://127.0.0.1:*"], stdout=subprocess.PIPE, text=True)
    endpoint = re.search(r"listen=(\S+)", gateway.stdout.readline()).group(1)
    return gateway, endpoint


class Churn:
    """Starts processes at an even pace."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.running = []
        self.started = 0
        self.late_s = 0.0
        self.began = time.monotonic()

    def run_until(self, end):
        silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        while (now := time.monotonic()) < end:
            due = self.began + self.started * 60 / self.options.per_minute
            if now < due:
                time.sleep(min(due, end) - now)
                continue
            self.late_s = max(self.late_s, now - due)
            command, file = COMMANDS[self.started % len(COMMANDS)], None
            if self.options.fresh and self.started % self.options.fresh == 0:
                file = os.path.join(self.folder, f"program-{self.started}")
                shutil.copy("/usr/bin/xz", file)
                command = [file, "-9", "-k", "-c", "/etc/services"]
            self.running.append((subprocess.Popen(command, **silent), file))
            self.started += 1
            self.reap()

    def reap(self):
        still = []
        for process, file in self.running:
            if process.poll() is None:
                still.append((process, file))
            elif file:
                os.unlink(file)
        self.running = still


def losses(options, folder):
    text = subprocess.run([os.path.join(options.bin, "perfleet"), "losses", "--data", os.path.join(folder, "data"), "--all", "--format",
                           "json"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(text)["ledger"]


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        gateway, endpoint = start_gateway(options, folder)
        collector = subprocess.Popen([os.path.join(options.bin, "perfleet-collector"), "--gateway", endpoint, "-a", "-g", "-F",
                                      str(options.frequency)])
        try:
            time.sleep(2)
            churn = Churn(options, folder)
            memory = []
            for minute in range(1, max(int(options.minutes), 1) + 1):
                churn.run_until(churn.began + minute * 60 * min(options.minutes, 1))
                memory.append(status_mib(collector.pid, "VmRSS"))
                helpers = sum(status_mib(child, "VmRSS") for child in helpers_of(collector.pid))
                print(f"minute {minute}: {churn.started} processes, collector {memory[-1]:.1f} MiB (helpers {helpers:.1f}), "
                      f"CPU {cpu_s(collector.pid):.1f} s, at most {churn.late_s:.1f} s behind its pace", flush=True)
        finally:
            collector.send_signal(signal.SIGINT)
            collector.wait()
            gateway.send_signal(signal.SIGTERM)
            gateway.wait()
        growth = memory[-1] - memory[min(1, len(memory) - 1)]
        print(f"growth after two minutes: {growth:+.1f} MiB; ledger {losses(options, folder)}")
    sys.exit(1 if growth > options.growth_max else 0)


if __name__ == "__main__":
    main()
