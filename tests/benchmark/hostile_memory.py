#!/usr/bin/env python3
"""What peers without a key can make a gateway's memory: raw ZMTP over plain sockets, one run of the gateway an attack.

    tests/benchmark/hostile_memory.py --bin build/release/bin [--memory-mib 256] [--seconds 12] [--connections 3]

Prints the gateway's peak of resident memory beside its --memory and 64 MiB, and fails where it is above.
"""
import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
ALLOWED_ON_TOP_MIB = 64
AT_ONCE = 1 << 18

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY_BODY = b"\x05READY" + b"\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER"
READY = b"\x04" + bytes([len(READY_BODY)]) + READY_BODY



def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def framed(text):
    message = bytes.fromhex(text)
    message = message[:20] + crc32c(message).to_bytes(4, "little") + message[24:]
    return bytes([0, len(message)]) + message


ATTACKS = {
    "parts": b"\x01\x00",  # empty, and more to come, without end
    "messages": b"\x00\x01x",  # one byte each
    "larger messages": b"\x00\x28" + b"x" * 40,  # too large to be stored in the queue itself
    # Cap'n Proto envelopes: an `ack`, which only gateways send, and `imageOffers` of no session, which get an answer.
    "acks": framed("0000000008000000" "0000000001000100" "0100040000000000" "0000000004000100" + 80 * "0"),
    "image offers": framed("0000000003000000" "0000000001000100" "01000b0000000000" "0000000000000000"),
}


def attack(port, pattern, end, byte_counts, number):
    """Sends until the end, over another connection whenever one is closed, then keeps it open and silent."""
    block = pattern * (AT_ONCE // len(pattern))
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(GREETING + READY)
                while time.monotonic() < end:
                    connection.sendall(block)
                    byte_counts[number] += len(block)
        except OSError:
            time.sleep(0.001)


def resident_kib(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(rf"{name}:\s+(\d+)", status.read()).group(1))


def run(arguments, name):
    with tempfile.TemporaryDirectory() as folder:
        gateway = subprocess.Popen(
            [os.path.join(arguments.bin, "perfleet-gateway"), "--data", os.path.join(folder, "store"), "--listen",
             "tcp://127.0.0.1:*", "--query", "none", "--memory", f"{arguments.memory_mib}m"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            port = int(re.search(r"listen=tcp://127\.0\.0\.1:(\d+)", gateway.stdout.readline()).group(1))
            byte_counts = [0] * arguments.connections
            end = time.monotonic() + arguments.seconds
            threads = [threading.Thread(target=attack, args=(port, ATTACKS[name], end, byte_counts, number))
                       for number in range(arguments.connections)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            time.sleep(1)
            if gateway.poll() is not None:
                print(f"{name}: the gateway ended with {gateway.returncode}")
                return False
            peak = resident_kib(gateway.pid, "VmHWM") // 1024
            after = resident_kib(gateway.pid, "VmRSS") // 1024
        finally:
            gateway.terminate()
            gateway.wait()
    allowed = arguments.memory_mib + ALLOWED_ON_TOP_MIB
    count = sum(byte_counts) / len(ATTACKS[name]) / 1e6
    print(f"{name:16} {count:7.1f} million handed to the kernel, peak {peak:5} MiB, afterwards {after:5} MiB, allowed {allowed} MiB",
          flush=True)
    return peak <= allowed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--memory-mib", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--connections", type=int, default=3)
    parser.add_argument("--attack", choices=list(ATTACKS), action="append")
    arguments = parser.parse_args()
    results = [run(arguments, name) for name in arguments.attack or ATTACKS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
