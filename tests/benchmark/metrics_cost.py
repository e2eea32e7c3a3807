#!/usr/bin/env python3
"""CPU time that one scrape of the metrics costs a daemon, counted by the daemon itself (process_cpu_seconds_total).

  metrics_cost.py [--scrapes N]
"""

import argparse
import os
import re
import subprocess
import tempfile
import urllib.request

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        return answer.read().decode()


def cpu_seconds(text):
    return float(re.search(r"^process_cpu_seconds_total (\S+)", text, re.MULTILINE).group(1))


def measure(name, process, address, scrapes):
    try:
        first = scrape(address)
        last = first
        for _ in range(scrapes):
            last = scrape(address)
        samples = sum(1 for line in last.splitlines() if not line.startswith("#"))
        cost_us = (cpu_seconds(last) - cpu_seconds(first)) / scrapes * 1e6
        print(f"{name}: {cost_us:.0f} us of CPU a scrape ({samples} samples, {len(last)} B); every 15 s that is "
              f"{cost_us / 15e6 * 100:.4f} % of a core")
    finally:
        process.terminate()
        process.communicate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--scrapes", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perfleet-metrics-") as folder:
        gateway = subprocess.Popen(
            [os.path.join(arguments.bin, "perfleet-gateway"), "--data", os.path.join(folder, "data"), "--listen",
             "tcp://127.0.0.1:*", "--query", "none", "--metrics", "127.0.0.1:*"], stdout=subprocess.PIPE, text=True)
        address = re.search(r"metrics=(\S+)", gateway.stdout.readline()).group(1)
        measure("gateway", gateway, address, arguments.scrapes)
        collector = subprocess.Popen(
            [os.path.join(arguments.bin, "perfleet-collector"), "--output", os.path.join(folder, "frames"), "--metrics",
             "127.0.0.1:*", "-e", "page-faults", "--", "sleep", "1000"], stderr=subprocess.PIPE, text=True)
        found = next(filter(None, (re.search(r"http://([^/]+)/metrics", line) for line in collector.stderr)))
        measure("collector", collector, found.group(1), arguments.scrapes)


if __name__ == "__main__":
    main()
