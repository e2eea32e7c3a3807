#!/usr/bin/env python3
"""Many simulated targets on one gateway: its memory and CPU time, how long acknowledgements take, and whether everything is stored.

Starts perfleet-gateway on a folder of its own and crowd_targets, which seals and sends a batch an interval for each target until the time
is over, and says Bye. With --keys each target has a key of its own and its connection is encrypted. Then the gateway is stopped and every
target's batches and rows are counted in the store. With --restart-at the gateway is killed in between and all come back to it. Fails when a batch isn't acknowledged or isn't there exactly once.

With --beside each round is two runs: first with the command of --against, such as one that only takes CPU time, then with that of --beside,
such as one that attacks the gateway. Ratios of their acknowledgement latencies are printed at the end.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--targets", type=int, default=10000, help="simulated targets (default 10000)")
    parser.add_argument("--seconds", type=float, default=600, help="how long each one sends (default 600)")
    parser.add_argument("--interval", type=float, default=2, help="seconds between a target's batches (default 2)")
    parser.add_argument("--rows", type=int, default=304, help="samples in a batch (default 304: 19 Hz on 8 CPUs in 2 s)")
    parser.add_argument("--keys", action="store_true", help="CURVE: a key for each target, enrolled at the gateway")
    parser.add_argument("--connect", type=float, default=500, help="targets that connect in a second at the start (default 500)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds more to wait for what isn't acknowledged (default 300)")
    parser.add_argument("--restart-at", type=float, help="kill -9 the gateway after so many seconds, and start it again at once")
    parser.add_argument("--memory", help="the gateway's --memory (default: its own)")
    parser.add_argument("--memory-max", type=float, help="fail when the gateway's resident memory goes above so many MiB")
    parser.add_argument("--beside", metavar="COMMAND", help="a shell command that runs meanwhile; {port} is the gateway's, {query} its query endpoint, {http} its address of HTTP")
    parser.add_argument("--against", metavar="COMMAND", help="with --beside: a command for the runs to compare with (default: none)")
    parser.add_argument("--rounds", type=int, default=1, help="with --beside: pairs of runs (default 1)")
    parser.add_argument("--folder", help="where the store stands meanwhile (default: a temporary folder)")
    return parser.parse_args()


def raise_descriptor_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Watch(threading.Thread):
    """The gateway's resident memory and CPU time, twice a second; those of one that was killed stay counted."""

    def __init__(self, pid, interval_s=0.5):
        super().__init__(daemon=True)
        self.pid, self.interval_s, self.over = pid, interval_s, threading.Event()
        self.peak_kib, self.samples, self.start_s, self.killed_cpu_s = 0, [], time.monotonic(), 0.0

    def run(self):
        while not self.over.wait(self.interval_s):
            try:
                with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                    status = file.read()
                cpu_s = self.killed_cpu_s + cpu_seconds(self.pid)
            except OSError:
                continue
            match = re.search(r"VmRSS:\s+(\d+)", status)
            if match:
                self.samples.append((time.monotonic() - self.start_s, int(match.group(1)), cpu_s))
                self.peak_kib = max(self.peak_kib, int(re.search(r"VmHWM:\s+(\d+)", status).group(1)))

    def at(self, seconds):
        """(resident KiB, CPU seconds) at that time."""
        return next(((kib, cpu_s) for when, kib, cpu_s in self.samples if when >= seconds), (0, 0.0))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def make_keys(options, folder):
    """A key for each target and one for the gateway; says what the gateway pays for so many files."""
    os.mkdir(folder)
    subprocess.run(targets_command(options, "--make-keys", folder, "--targets", str(options.targets)), check=True)
    cost = json.loads(subprocess.run(targets_command(options, "--time-keys", folder), stdout=subprocess.PIPE, text=True,
                                     check=True).stdout)
    print(f"allow-list of {cost['keys']} keys: {cost['first_ms']:.0f} ms to read it ({cost['first_cpu_ms']:.0f} ms CPU), "
          f"{cost['unchanged_ms']:.1f} ms to see that nothing changed, {cost['changed_ms']:.1f} ms when one has")
    return folder


def free_endpoint():
    """Of a port that no connection going out can have taken when the gateway comes back."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first_outgoing = int(file.read().split()[0])
    while True:
        port = random.randrange(first_outgoing // 2, first_outgoing)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return f"tcp://127.0.0.1:{port}"
            except OSError:
                continue


def start_gateway(options, data, keys, listen):
    has_http = "{http}" in (options.beside or "")
    query = "tcp://127.0.0.1:*" if has_http or "{query}" in (options.beside or "") else "none"
    command = [os.path.join(options.bin, "perfleet-gateway"), "--data", data, "--listen", listen, "--query", query]
    if has_http:
        command += ["--http", "127.0.0.1:*", "--http-import"]
    if options.memory:
        command += ["--memory", options.memory]
    if keys:
        command += ["--key", os.path.join(keys, "gateway.key"), "--collectors", os.path.join(keys, "collectors")]
    gateway = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = gateway.stdout.readline()
    if not line.startswith("ready "):
        sys.exit("the gateway doesn't start")
    named = dict(re.findall(r"(\w+)=(\S+)", line))
    return gateway, named["listen"], named


def targets_command(options, *more):
    return [os.path.join(options.bin, "..", "benchmark-bin", "crowd_targets"), "--seconds", str(options.seconds),
            "--interval-ms", str(round(options.interval * 1000)), "--rows", str(options.rows), *more]


def percentiles(spread, shares):
    """Of a spread whose steps are 16ths of a power of two: upper ends, in the same unit."""
    total, found, seen = sum(spread.values()), [], 0
    for step in sorted(spread):
        seen += spread[step]
        while len(found) < len(shares) and seen >= shares[len(found)] * total:
            found.append(2 ** ((step + 1) / 16) - 1)
    return found


def start_crowd(options, endpoint, keys):
    command = targets_command(options, "--gateway", endpoint, "--targets", str(options.targets),
                              "--connect-seconds", str(options.targets / options.connect), "--timeout", str(options.timeout))
    return subprocess.Popen(command + (["--keys", keys] if keys else []), stdout=subprocess.PIPE, text=True)


def answer_of(crowd):
    text, _ = crowd.communicate()
    if not text.strip():
        sys.exit("crowd_targets failed")
    return json.loads(text), crowd.returncode == 0


def say_figures(options, sums, stored, watch, cpu_s, size):
    """Of a run; the CPU time without its beginning, in which all connect, on a line of its own."""
    seconds = sums["seconds"]
    print(f"{options.targets} targets, {'keys, ' if options.keys else ''}{seconds:.0f} s: {sums['welcomed']} welcomed, "
          f"{sums['finished']} said Bye; load of the machine {os.getloadavg()[0]:.1f}")
    print(f"batches: {sums['batches_sealed']} sealed, {sums['batches_acknowledged']} acknowledged, "
          f"{sums['batches_sealed'] - sums['batches_acknowledged']} not; {sums['batches_resent']} sent again, "
          f"{sums['refused']} refused, {sums['hello_again']} times Hello again")
    print(f"connections: {sums['connections_lost']} lost, {sums['peer_silent']} of them for silence, "
          f"{sums['handshakes_failed']} handshakes failed")
    print(f"sent: {sums['bytes_sent'] / 1e6:.1f} MB, {sums['bytes_sent'] / max(1, sums['batches_sealed']):.0f} B a batch; "
          f"at most {sums['kept_max']} batches kept by a target, its turn {1e3 * sums['late_seconds_max']:.0f} ms late")
    spread = {int(step): count for step, count in sums["latency_us_log2_16ths"].items()}
    middle = most = 0.0
    if spread:
        middle, most, last = percentiles(spread, (0.5, 0.99, 0.999))
        print(f"from sealed to acknowledged: median {middle / 1e3:.0f} ms, 99 % {most / 1e3:.0f} ms, "
              f"99.9 % {last / 1e3:.0f} ms, longest {(2 ** ((max(spread) + 1) / 16) - 1) / 1e3:.0f} ms")
    print(f"gateway: {watch.peak_kib / 1024:.0f} MiB resident at most, {cpu_s:.1f} s CPU = {100 * cpu_s / seconds:.0f} % of one, "
          f"{1e6 * cpu_s / max(1, sums['batches_acknowledged']):.0f} us a batch; simulation {sums['cpu_seconds']:.1f} s = "
          f"{100 * sums['cpu_seconds'] / seconds:.0f} %")
    connect_s = options.targets / options.connect
    kib, connect_cpu_s = watch.at(connect_s)
    if kib and seconds > connect_s + 5:
        print(f"  when all were connected ({connect_s:.0f} s): {kib / 1024:.0f} MiB, {connect_cpu_s:.1f} s CPU; "
              f"from then on {100 * (cpu_s - connect_cpu_s) / (seconds - connect_s):.0f} % of one")
    print(f"store: {stored.get('batches')} batches, {stored.get('rows')} rows, {size / 1e6:.0f} MB; "
          f"{stored.get('targets_wrong')} targets that aren't exact", flush=True)
    return middle, most


def run(options, command):
    """One gateway and one crowd, and `command` beside them. Gives whether all is well, and p50 and p99 of the latencies in µs."""
    folder = tempfile.mkdtemp(prefix="perfleet-crowd-", dir=options.folder)
    gateway = crowd = beside = None
    try:
        data = os.path.join(folder, "data")
        keys = make_keys(options, os.path.join(folder, "keys")) if options.keys else None
        gateway, endpoint, named = start_gateway(options, data, keys, free_endpoint() if options.restart_at else "tcp://127.0.0.1:*")
        watch = Watch(gateway.pid)
        watch.start()
        crowd = start_crowd(options, endpoint, keys)
        if command:
            for name in ("query", "http"):
                command = command.replace("{" + name + "}", named.get(name, ""))
            beside = subprocess.Popen(command.replace("{port}", endpoint.rsplit(":", 1)[1]), shell=True, start_new_session=True)
        if options.restart_at:
            time.sleep(options.restart_at)
            watch.killed_cpu_s = cpu_seconds(gateway.pid)
            gateway.kill()
            gateway.wait()
            gateway, _, _ = start_gateway(options, data, keys, endpoint)
            watch.pid = gateway.pid
        sums, fine = answer_of(crowd)
        cpu_s = watch.killed_cpu_s + cpu_seconds(gateway.pid)
        watch.over.set()
        watch.join()
        gateway.send_signal(signal.SIGTERM)
        if gateway.wait(120) != 0:
            print("the gateway failed", file=sys.stderr)
            fine = False
        stored = json.loads(subprocess.run(targets_command(options, "--check", data, "--targets", str(options.targets)),
                                           stdout=subprocess.PIPE, text=True).stdout or "{}")
        size = sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(data) for name in names)
        latencies = say_figures(options, sums, stored, watch, cpu_s, size)
        if options.memory_max and watch.peak_kib / 1024 > options.memory_max:
            print(f"more resident memory than {options.memory_max:.0f} MiB", file=sys.stderr)
            fine = False
        if stored.get("targets_wrong") != 0 or sums["batches_acknowledged"] != sums["batches_sealed"]:
            fine = False
        return fine, latencies
    finally:
        if beside is not None:
            os.killpg(beside.pid, signal.SIGKILL)
            beside.wait()
        for program in (gateway, crowd):
            if program is not None and program.poll() is None:
                program.kill()
                program.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    options = parse_arguments()
    raise_descriptor_limit()
    if not options.beside:
        return 0 if run(options, None)[0] else 1
    outcomes = []
    for _ in range(options.rounds):
        for name, command in (("against", options.against), ("beside", options.beside)):
            print(f"-- {name}: {command or 'nothing'}", flush=True)
            outcomes.append(run(options, command))
    fine = [outcome[0] for outcome in outcomes]
    for name, at in (("median", 0), ("99 %", 1)):
        pairs = [(before[1][at], after[1][at]) for before, after in zip(outcomes[::2], outcomes[1::2])]
        print(f"from sealed to acknowledged, {name}: " +
              ", ".join(f"{after / 1e3:.0f} against {before / 1e3:.0f} ms ({after / max(1, before):.1f} x)" for before, after in pairs))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
