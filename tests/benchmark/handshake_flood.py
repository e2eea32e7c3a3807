#!/usr/bin/env python3
"""The cost of a flood of half handshakes for a gateway that requires keys: connections are opened over loopback as fast as one
core can, greet as CURVE peers do, and say no more. Prints the gateway's CPU per connection, its share of a core, its memory,
and how long a collector with a key takes to be served meanwhile."""
import argparse
import collections
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))


def flood(port, seconds, open_max):
    """Opens connections, closing the oldest above `open_max`. Gives their number."""
    connections = collections.deque()
    count = 0
    refused = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=5)
            connection.sendall(GREETING)
            connections.append(connection)
            count += 1
        except OSError:
            refused += 1
        if len(connections) > open_max:
            connections.popleft().close()
    for connection in connections:
        connection.close()
    return count, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--open", type=int, default=5000, help="connections of the flood that are open at once")
    arguments = parser.parse_args()
    program = lambda name: os.path.join(arguments.bin, name)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gateway", "good"):
            subprocess.run([program("perfleet"), "keygen", name, "--out", folder], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        collectors = os.path.join(folder, "collectors")
        os.mkdir(collectors)
        os.rename(os.path.join(folder, "good.pub"), os.path.join(collectors, "good.pub"))
        gateway = subprocess.Popen(
            [program("perfleet-gateway"), "--data", os.path.join(folder, "data"), "--listen", "tcp://127.0.0.1:*", "--query",
             "none", "--key", os.path.join(folder, "gateway.key"), "--collectors", collectors],
            stdout=subprocess.PIPE, text=True)
        try:
            listen = gateway.stdout.readline().split("listen=")[1].split()[0]
            port = int(listen.rsplit(":", 1)[1])
            before_mib = memory_mib(gateway.pid, "VmRSS")
            collect = [program("perfleet-collector"), "--gateway", listen, "--key", os.path.join(folder, "good.key"),
                       "--gateway-key", os.path.join(folder, "gateway.pub"), "-e", "cpu-clock", "--exit-wait", "60", "--",
                       "true"]

            def collect_s():
                began = time.monotonic()
                done = subprocess.run(collect, stderr=subprocess.PIPE, text=True, check=False)
                return time.monotonic() - began if done.returncode == 0 else None

            quiet_s = collect_s()
            began_cpu, began = cpu_s(gateway.pid), time.monotonic()
            child = os.fork()
            if child == 0:
                count, refused = flood(port, arguments.seconds, arguments.open)
                print(f"{count} half handshakes, {refused} connections refused by the kernel", flush=True)
                os._exit(0)
            time.sleep(arguments.seconds / 2)
            busy_s = collect_s()
            os.waitpid(child, 0)
            spent, elapsed = cpu_s(gateway.pid) - began_cpu, time.monotonic() - began
            print(f"gateway: {spent:.2f} s of CPU in {elapsed:.1f} s, {spent / elapsed:.2f} of a core")
            print(f"memory: {before_mib:.0f} MiB before, {memory_mib(gateway.pid, 'VmHWM'):.0f} MiB at most")
            said = lambda value: "not served" if value is None else f"{value:.2f} s"
            print(f"a collector's whole run: {said(quiet_s)} in quiet, {said(busy_s)} in the flood")
        finally:
            gateway.send_signal(signal.SIGTERM)
            gateway.wait(timeout=30)
    return 0 if busy_s is not None else 1


if __name__ == "__main__":
    sys.exit(main())
