#!/usr/bin/env python3
"""What a fleet costs on a store in RADOS: prints the table of docs/scale.md.

A model: what is measured of one of each thing, multiplied. INPUTS says what was measured, and how.
"""

import argparse
import dataclasses
import math

# name: (value, unit, where it comes from)
INPUTS = {
    "bytes a sample": (7.6, "B", "at rest, all-in, a database with call chains; compilers 7.9, no call graphs 6.0 "
                       "(benchmarks.md, Real recordings)"),
    "bytes a row on the wire": (9.2, "B", "999 Hz, compilers (benchmarks.md, Bytes)"),
    "CPU of a gateway a batch": (79e-6, "s", "10,000 targets with keys: 82 us a batch of 304 rows, less its rows "
                                 "(crowd.py)"),
    "CPU of a gateway a row": (9.8e-9, "s", "184 us a batch of 16,384 rows, 25.6 of 300 (gateway_cost)"),
    "CPU of the cluster an operation": (1.4e-3, "s", "2 GB of blocks in operations of 80 KB to 1 MB, three copies, "
                                        "librados, monitor and OSDs on one host: 23 to 6.6 s a GB"),
    "CPU of the cluster a MB": (5.2e-3, "s", "the same; 8 KB an operation came to 145 s a GB, the model says 175"),
    "written by an OSD": (1.1, "x", "of what it is given, at 1 MB an operation; 1.23 at 80 KB"),
    "latency of an operation": (10e-3, "s", "assumed for 1 MB, not measured; less when it is small"),
    "compaction": (1.0, "x", "of what is stored is written again, once"),
    "memory a connection": (7.5e3, "B", "10,000 with keys: 75 MiB"),
    "memory of an index key": (200, "B", "a limit of 1,000,000 keys in memory (rados_limits.h)"),
}
SHARDS = 16  # of a store
HZ = 19
CPUS = 64
BATCH_S = 2.0
GROUP_S = 0.5  # between two commits at most,
GROUP_BYTES = 16 << 20  # or so much
WATERMARKS_S = 20.0  # between two writes of a shard's watermarks
NETWORK_BYTES = 10e9 / 8
DISK_BYTES = 1e9  # an OSD's, sequential
CONNECTIONS_MAX = 500_000  # of a process: half of the descriptors that Linux allows by default as the most
INDEX_KEYS_MAX = 1_000_000  # in memory
SEGMENT_KEYS_MAX = 100_000


def value(name):
    return INPUTS[name][0]


@dataclasses.dataclass
class Fleet:
    targets: int
    gateways: int

    def __post_init__(self):
        self.samples = self.targets * HZ * CPUS
        self.batches = self.targets / BATCH_S
        self.stored = self.samples * value("bytes a sample")
        self.wire = self.samples * value("bytes a row on the wire")
        self.ingest_cpu = (self.batches * value("CPU of a gateway a batch")
                           + self.samples * value("CPU of a gateway a row"))
        # A gateway writes its shards at the same time: an operation for each, and now and then one with watermarks.
        self.commit_s = value("latency of an operation") * (1 + GROUP_S / WATERMARKS_S)
        self.group_s = max(min(GROUP_S, GROUP_BYTES * self.gateways / self.wire), self.commit_s)
        self.operations = min(self.batches, SHARDS / self.group_s) + SHARDS / WATERMARKS_S
        self.operation_size = self.stored / (SHARDS / self.group_s)
        written = self.stored * (1 + value("compaction"))
        self.cluster_cpu = (self.operations * value("CPU of the cluster an operation")
                            + written / 1e6 * value("CPU of the cluster a MB"))
        self.replicated = written * 3 * value("written by an OSD")
        self.day = self.stored * 86_400 * 3
        # Record and two series of a batch, until they are compacted when the hour has ended.
        self.index_keys = self.batches * 3 * 3_600
        self.objects_hour = max(self.stored * 3_600 / (64 << 20), self.index_keys / SEGMENT_KEYS_MAX)
        self.memory = (self.targets * value("memory a connection")
                       / self.gateways + min(self.index_keys / self.gateways, INDEX_KEYS_MAX)
                       * value("memory of an index key"))

    def limits(self):
        """[(by how much it is exceeded, what)], the worst first."""
        each = self.gateways
        found = [
            (self.ingest_cpu / each, "the thread of a gateway that ingests"),
            (self.wire / each / NETWORK_BYTES, "a gateway's network: 10 Gbit/s"),
            (self.targets / each / CONNECTIONS_MAX, "a gateway's connections: 500,000"),
            (self.commit_s / min(GROUP_S, GROUP_BYTES * each / self.wire),
             "time between two groups of 16 MB, by the operations of one"),
            (self.index_keys / SHARDS / INDEX_KEYS_MAX, "index keys of an hour of one shard, which compaction reads at "
             "once: 1,000,000"),
        ]
        return sorted(found, reverse=True)


def size(number):
    for unit in ("", "k", "M", "G", "T", "P"):
        if number < 1000:
            return f"{number:.3g} {unit}".rstrip()
        number /= 1000
    return f"{number:.3g} E"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gateways", type=int, default=0, metavar="N", help="default: 1, 4, 16")
    arguments = parser.parse_args()
    fleets = [Fleet(targets, arguments.gateways or gateways)
              for targets, gateways in ((10_000, 1), (100_000, 4), (1_000_000, 16))]
    rows = [
        ("targets", lambda f: size(f.targets)),
        ("gateways", lambda f: str(f.gateways)),
        ("samples a second", lambda f: size(f.samples)),
        ("batches a second", lambda f: size(f.batches)),
        ("received", lambda f: size(f.wire) + "B/s"),
        ("stored, one copy", lambda f: size(f.stored) + "B/s"),
        ("written by all OSDs", lambda f: size(f.replicated) + "B/s"),
        ("kept a day, three copies", lambda f: size(f.day) + "B"),
        ("operations a second", lambda f: size(f.operations)),
        ("bytes of an operation", lambda f: size(f.operation_size) + "B"),
        ("objects an hour", lambda f: size(f.objects_hour)),
        ("index keys an hour", lambda f: size(f.index_keys)),
        ("CPU that ingests, cores", lambda f: size(f.ingest_cpu)),
        ("CPU of the cluster, cores", lambda f: size(f.cluster_cpu)),
        ("OSDs, by their disks", lambda f: size(math.ceil(f.replicated / DISK_BYTES))),
        ("memory of a gateway, beside its groups", lambda f: size(f.memory) + "B"),
        ("network of a gateway, in", lambda f: size(f.wire / f.gateways) + "B/s"),
    ]
    print("| " + " | ".join(["", *("" for _ in fleets)]) + " |")
    print("|---" * (len(fleets) + 1) + "|")
    for name, of in rows:
        print(f"| {name} | " + " | ".join(of(fleet) for fleet in fleets) + " |")
    print()
    for fleet in fleets:
        print(f"{size(fleet.targets)} targets, {fleet.gateways} gateways:")
        for ratio, what in fleet.limits():
            print(f"  {ratio:8.2g} x  {what}")
    print()
    print("| input | | from |")
    print("|---|---|---|")
    for name, (number, unit, source) in INPUTS.items():
        print(f"| {name} | {size(number) if number >= 1 else f'{number:.3g}'} {unit} | {source} |")


if __name__ == "__main__":
    main()
