#!/usr/bin/env python3
"""Bytes that a sample takes on the wire, and at rest.

Records whatever runs with `perfleet-collector -a -g --output FILE` and sums the frames as they would have travelled, by message; beside it
a perf.data of the same rows, exported from a store that a second recording made, raw and packed with `zstd -19` and `xz -6`. The store's
bytes are those of its files once a reader has closed it, less the kernel's symbols, which are stored once for each kernel.
"""
import argparse
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

MESSAGES = ["hello", "welcome", "helloAgain", "batch", "ack", "refused", "bye", "control", "needImage", "image",
            "controlled", "imageOffers"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--seconds", type=float, default=75, help="length of each recording (default 75)")
    parser.add_argument("--frequency", type=int, default=999, help="Hz (default 999)")
    return parser.parse_args()


def frame_sizes(path):
    """Sums of frame sizes by message. The message is the tag of Envelope's union: u16 at byte 18 of a frame."""
    sizes = collections.Counter()
    with open(path, "rb") as file:
        if file.read(8) != b"PERFLEET":
            sys.exit(f"{path} is no file of frames")
        file.read(8)
        while header := file.read(4):
            frame = file.read(struct.unpack("<I", header)[0])
            sizes[MESSAGES[struct.unpack_from("<H", frame, 18)[0]]] += len(frame)
    return sizes


def run(arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True)


def main():
    options = parse_arguments()
    program = lambda name: os.path.join(options.bin, name)
    events = ["-a", "-g", "-e", "cpu-clock", "-F", str(options.frequency), "--duration", str(options.seconds)]
    with tempfile.TemporaryDirectory() as folder:
        frames = os.path.join(folder, "frames")
        # "123 rows, 0 lost": rows of all kinds; task and counter rows are few, and carried by the samples.
        said = run([program("perfleet-collector"), "--output", frames] + events).stderr
        rows = int(re.search(r"([\d,]+) rows", said).group(1).replace(",", ""))
        sizes = frame_sizes(frames)
        print(f"on the wire: {rows} rows at {options.frequency} Hz in {options.seconds:.0f} s: " +
              ", ".join(f"{name} {size}" for name, size in sorted(sizes.items())) + " bytes")
        print(f"on the wire: {(sum(sizes.values()) - sizes['image']) / rows:.2f} B a row without symbols")

        store = os.path.join(folder, "store")
        run([program("perfleet"), "record", "--data", store] + events)
        top = json.loads(run([program("perfleet"), "top", "--data", store, "--format", "json"]).stdout)
        samples = top["ledger"]["stored"]
        size = sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(store) for name in names
                   if name.endswith((".sst", ".log")))
        stored = run([program("perfleet"), "inspect", "--sizes", "--data", store]).stdout
        symbols = int(re.search(r"^\(images\).* ([\d,]+) +-$", stored, re.MULTILINE).group(1).replace(",", ""))
        print(f"at rest: {samples} samples, {(size - symbols) / samples:.2f} B a sample all-in, without symbols")
        data = os.path.join(folder, "perf.data")
        run([program("perfleet"), "export", "--to", "perf.data", "-o", data, "--data", store])
        print(f"perf.data: {os.path.getsize(data) / samples:.2f} B a sample")
        for packer in (["zstd", "-19", "-q", "-c"], ["xz", "-6", "-c"]):
            packed = subprocess.run(packer + [data], check=True, stdout=subprocess.PIPE).stdout
            print(f"{' '.join(packer[:2])}: {len(packed) / samples:.2f} B a sample")


if __name__ == "__main__":
    main()
