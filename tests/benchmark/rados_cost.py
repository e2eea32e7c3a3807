#!/usr/bin/env python3
"""The cost of a store on RADOS beside one in a folder: CPU of the command and of the whole cluster, and bytes.

Run it by storage/engine/testing/with_ceph_cluster. Copies a store into a folder and into the pool by turns, and asks
the same of both. Prints medians, and each round's ratio.
"""

import argparse
import glob
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")


def cluster_cpu_seconds():
    """Of monitor and OSDs, so far."""
    ticks = 0
    for name in glob.glob(os.path.join(os.environ["PERFLEET_TEST_RADOS_DIR"], "*.pid")):
        with open(name, encoding="ascii") as file:
            pid = file.read().strip()
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def run(words):
    """Seconds of CPU: the command's and the cluster's; seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cluster = cluster_cpu_seconds()
    start = time.monotonic()
    ended = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)}: {ended.stderr}")
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return own, cluster_cpu_seconds() - cluster, took


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--data", required=True, help="folder of the store to copy")
    parser.add_argument("--folder", default="/tmp", help="where copies go")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    perfleet = os.path.join(arguments.bin, "perfleet")
    copied = os.path.join(arguments.folder, f"rados_cost.{os.getpid()}")
    figures = {}
    place = ""
    for number in range(arguments.rounds):
        shutil.rmtree(copied, ignore_errors=True)
        place = f"{os.environ['PERFLEET_TEST_RADOS']}/cost.{os.getpid()}.{number}"
        for what, words in (("copy", ["copy", "--data", arguments.data, "--to"]),
                            ("top", ["top", "--all", "--data"])):
            folder = run([perfleet, *words, copied])
            pool = run([perfleet, *words, place])
            figures.setdefault(what, []).append((folder, pool))
    shutil.rmtree(copied)
    print(f"{'':8} {'folder':>24} {'pool':>36} {'CPU':>8} {'time':>6}")
    for what, rounds in figures.items():
        middle = [[statistics.median(one[side][i] for one in rounds) for i in range(3)] for side in range(2)]
        cpu = statistics.median((pool[0] + pool[1]) / folder[0] for folder, pool in rounds)
        took = statistics.median(pool[2] / folder[2] for folder, pool in rounds)
        print(f"{what:8} {middle[0][0]:8.2f} CPU s, {middle[0][2]:6.2f} s {middle[1][0]:8.2f} + {middle[1][1]:5.2f} CPU s, "
              f"{middle[1][2]:6.2f} s {cpu:7.2f}x {took:5.2f}x")


if __name__ == "__main__":
    main()
