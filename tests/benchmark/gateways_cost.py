#!/usr/bin/env python3
"""The cost of ingest on a store in RADOS: CPU of one, two, three gateways and of the cluster, beside a gateway on a folder.

Run it by storage/engine/testing/with_ceph_cluster. Sources of tests/chaos (chaos_source) send the same rows to each by
turns. Prints medians. What the cluster takes at rest is measured first, and left out.
"""

import argparse
import glob
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

REST_S = 10.0
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cluster_cpu_seconds():
    """Of monitor and OSDs, so far."""
    seconds = 0.0
    for name in glob.glob(os.path.join(os.environ["PERFLEET_TEST_RADOS_DIR"], "*.pid")):
        with open(name, encoding="ascii") as file:
            seconds += cpu_seconds(int(file.read()))
    return seconds


def run(arguments, place, count, at_rest):
    """CPU of the gateways, and of the cluster."""
    folder = tempfile.mkdtemp(prefix="gateways_cost-")
    endpoints = [f"tcp://127.0.0.1:{free_port()}" for _ in range(count)]
    gateways = []
    for endpoint in endpoints:
        gateways.append(subprocess.Popen(
            [os.path.join(arguments.build, "bin/perfleet-gateway"), "--data", place, "--listen", endpoint, "--query",
             "none", "--no-compaction"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        gateways[-1].stdout.readline()
    time.sleep(4 if count > 1 else 0)  # until each has its part
    os.mkdir(os.path.join(folder, "logs"))
    before = cluster_cpu_seconds()
    began = time.monotonic()
    own = sum(cpu_seconds(gateway.pid) for gateway in gateways)
    sources = []
    for number in range(arguments.targets):
        sources.append(subprocess.Popen(
            [os.path.join(arguments.build, "test-bin/chaos_source"), "--gateway",
             ",".join(endpoints[number % count:] + endpoints[:number % count]), "--logs", os.path.join(folder, "logs"),
             "--target", f"cost-{number}", "--seed", str(number), "--rows", str(arguments.rows), "--duration-ms",
             str(arguments.seconds * 1000), "--batch-rows", "16384", "--batch-age-ms", str(arguments.batch_age_ms),
             "--resend-ms", "3000"], stdout=subprocess.DEVNULL))
    for source in sources:
        if source.wait() != 0:
            sys.exit(f"a source wasn't rid of its rows: {source.returncode}")
    own = sum(cpu_seconds(gateway.pid) for gateway in gateways) - own
    cluster = cluster_cpu_seconds() - before - at_rest * (time.monotonic() - began)
    for gateway in gateways:
        gateway.send_signal(signal.SIGTERM)
    for gateway in gateways:
        gateway.wait()
    shutil.rmtree(folder)
    return own, cluster


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="the build's folder")
    parser.add_argument("--targets", type=int, default=8)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each target")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--batch-age-ms", type=int, default=1_000)
    parser.add_argument("--gateways", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    at_rest = cluster_cpu_seconds()
    time.sleep(REST_S)
    at_rest = (cluster_cpu_seconds() - at_rest) / REST_S
    figures = {}
    for number in range(arguments.rounds):
        folder = tempfile.mkdtemp(prefix="gateways_cost-data-")
        figures.setdefault("folder", []).append(run(arguments, os.path.join(folder, "data"), 1, 0.0))
        shutil.rmtree(folder)
        for count in arguments.gateways:
            place = f"{os.environ['PERFLEET_TEST_RADOS']}/cost.{os.getpid()}.{number}.{count}"
            figures.setdefault(count, []).append(run(arguments, place, count, at_rest))
    millions = arguments.targets * arguments.rows / 1e6
    base = statistics.median(own for own, _ in figures["folder"])
    print(f"{'':16} {'gateways':>10} {'cluster':>10}   CPU s a million rows, of {millions:g}; the cluster at rest: "
          f"{100 * at_rest:.1f} % of a core")
    for name, pairs in figures.items():
        own = statistics.median(own for own, _ in pairs)
        cluster = 0.0 if name == "folder" else statistics.median(cluster for _, cluster in pairs)
        words = "folder" if name == "folder" else f"pool, {name} of them"
        print(f"{words:16} {own / millions:10.4f} {cluster / millions:10.4f}   {(own + cluster) / base:.2f}x")


if __name__ == "__main__":
    main()
