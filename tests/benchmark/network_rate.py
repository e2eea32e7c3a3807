#!/usr/bin/env python3
"""Bytes a second from a bare-metal image to the host, over virtio-net and TCP (QEMU, AArch64), as ratios to a bare lwIP
sender in the same image and run: messages of the size of batches by the collector's driver to a peer that discards
them, and batches of a collector to a gateway with its store in memory. Batches are limited by the time to seal them,
and by the collector's spool of 128 KiB in the time that the gateway takes to acknowledge one.
"""

import argparse
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECE_SIZE_BYTES = 1 << 18
PING_S = 2  # a peer that is silent for longer is given up by the driver
TIMEOUT_S = 300
NAMES = ("lwip", "messages", "batches")  # as the image prints them
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48)
READY = b"\x05READY\x0bSocket-Type" + (6).to_bytes(4, "big") + b"ROUTER"
PING = b"\x04PING" + bytes(2)


def discard(speaks_zmtp):
    """A sink: standard input until its end. As ZMTP peer it says hello, and sends PINGs."""

    def command(body):
        os.write(1, bytes([4, len(body)]) + body)

    if speaks_zmtp:
        os.write(1, GREETING)
        command(READY)
    while True:
        if not select.select([0], [], [], PING_S)[0]:
            if speaks_zmtp:
                command(PING)
        elif not os.read(0, PIECE_SIZE_BYTES):
            return


def run(arguments, folder):
    own = f"{sys.executable} -ES {os.path.abspath(__file__)}"
    bridge = f"{sys.executable} -ES {ROOT / 'tests/end_to_end/guest_bridge.py'}"
    gateway = subprocess.Popen(
        [arguments.gateway, "--data", os.path.join(folder, "data"), "--listen", "tcp://127.0.0.1:*", "--query", "none"],
        stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r"listen=tcp://127\.0\.0\.1:(\d+)", gateway.stdout.readline()).group(1)
        to = "guestfwd=tcp:10.0.2.100"
        machine = subprocess.run(
            ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57", "-m", "64", "-display", "none", "-nodefaults",
             "-no-reboot", "-serial", "stdio", "-netdev",
             f"user,id=net,restrict=on,{to}:1-cmd:{own} --discard,{to}:2-cmd:{own} --discard-zmtp,"
             f"{to}:3-cmd:{bridge} 127.0.0.1 {port}",
             "-device", "virtio-net-device,netdev=net", "-kernel", arguments.image, "-append", str(arguments.mib)],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=TIMEOUT_S)
    finally:
        gateway.terminate()
        gateway.wait()
    rates = {}
    for name, size_bytes, us in re.findall(r"^(\w+) bytes=(\d+) us=(\d+)", machine.stdout, re.MULTILINE):
        rates[name] = int(size_bytes) / int(us)
    sent = re.search(r"^collector batches=(\d+) dropped=(\d+) messages=(\d+)", machine.stdout, re.MULTILINE)
    if set(rates) != set(NAMES) or not sent:
        sys.exit(f"network_rate.py: the image printed:\n{machine.stdout}")
    if sent.group(2) != "0":
        sys.exit(f"network_rate.py: {sent.group(2)} batches were dropped")
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"), help="where the gateway is; the image is beside it")
    parser.add_argument("--mib", type=int, default=32, help="to send each time (32)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--discard", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--discard-zmtp", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.discard or arguments.discard_zmtp:
        discard(arguments.discard_zmtp)
        return
    arguments.image = os.path.join(arguments.bin, "../bare-metal/network-rate.elf")
    arguments.gateway = os.path.join(arguments.bin, "perfleet-gateway")
    rounds = []
    print("lwIP [MB/s]  messages [MB/s]  batches [MB/s]  messages / lwIP  batches / lwIP")
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory(prefix="perfleet-network-rate-", dir="/dev/shm") as folder:
            rates = run(arguments, folder)
        lwip, messages, batches = (rates[name] for name in NAMES)
        rounds.append((lwip, messages, batches, messages / lwip, batches / lwip))
        print(form(*rounds[-1]), flush=True)
    print("medians:")
    print(form(*(statistics.median(one) for one in zip(*rounds))))


def form(lwip, messages, batches, messages_ratio, batches_ratio):
    return f"{lwip:11.1f}  {messages:15.1f}  {batches:14.1f}  {messages_ratio:15.2f}  {batches_ratio:14.2f}"


if __name__ == "__main__":
    main()
