#!/usr/bin/env python3
"""CPU time that one scrape of the metrics costs a daemon, counted by the daemon itself (process_cpu_seconds_total).

  metrics_cost.py [--scrapes N]
  metrics_cost.py --slow N          how long a scrape of the gateway takes beside N connections whose requests never end,
                                    each made anew as soon as it is closed, and without them
"""

import argparse
import os
import re
import socket
import statistics
import subprocess
import tempfile
import threading
import time
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


class SlowRequests(threading.Thread):
    """Connections that have sent the beginning of a request, and a byte more now and then."""

    def __init__(self, address, count):
        super().__init__(daemon=True)
        host, port = address.rsplit(":", 1)
        self.endpoint, self.count, self.made, self.open, self.is_over = (host, int(port)), count, 0, set(), False

    def run(self):
        while not self.is_over:
            while len(self.open) < self.count and not self.is_over:
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex(self.endpoint)
                self.open.add(connection)
                self.made += 1
            for connection in list(self.open):
                try:
                    connection.send(b"GET /metrics HTTP/1.1\r\n" if self.made % 2 else b"x")
                    if not connection.recv(64):
                        raise ConnectionResetError
                except BlockingIOError:
                    pass
                except OSError:
                    connection.close()
                    self.open.discard(connection)


def scrape_times(address, count):
    """In ms; and how many failed."""
    times, failed = [], 0
    for _ in range(count):
        began = time.monotonic()
        try:
            scrape(address)
        except OSError:
            failed += 1
        times.append(1e3 * (time.monotonic() - began))
        time.sleep(0.05)
    return times, failed


def measure_beside_slow_ones(process, address, scrapes, count):
    try:
        for slow_count in (0, count, 0, count):
            slow = SlowRequests(address, slow_count)
            slow.start()
            time.sleep(1)
            times, failed = scrape_times(address, scrapes)
            slow.is_over = True
            slow.join()
            for connection in slow.open:
                connection.close()
            print(f"{slow_count} slow requests at once, {slow.made} made: of {scrapes} scrapes {failed} failed, median "
                  f"{statistics.median(times):.1f} ms, longest {max(times):.0f} ms", flush=True)
    finally:
        process.terminate()
        process.communicate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--scrapes", type=int, default=500)
    parser.add_argument("--slow", type=int, metavar="N")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perfleet-metrics-") as folder:
        gateway = subprocess.Popen(
            [os.path.join(arguments.bin, "perfleet-gateway"), "--data", os.path.join(folder, "data"), "--listen",
             "tcp://127.0.0.1:*", "--query", "none", "--metrics", "127.0.0.1:*"], stdout=subprocess.PIPE, text=True)
        address = re.search(r"metrics=(\S+)", gateway.stdout.readline()).group(1)
        if arguments.slow is not None:
            measure_beside_slow_ones(gateway, address, arguments.scrapes, arguments.slow)
            return
        measure("gateway", gateway, address, arguments.scrapes)
        collector = subprocess.Popen(
            [os.path.join(arguments.bin, "perfleet-collector"), "--output", os.path.join(folder, "frames"), "--metrics",
             "127.0.0.1:*", "-e", "page-faults", "--", "sleep", "1000"], stderr=subprocess.PIPE, text=True)
        found = next(filter(None, (re.search(r"http://([^/]+)/metrics", line) for line in collector.stderr)))
        measure("collector", collector, found.group(1), arguments.scrapes)


if __name__ == "__main__":
    main()
