#!/usr/bin/env python3
"""What hostile peers can make the memory of each program: raw ZMTP over plain sockets, one run of the program an attack.

    tests/benchmark/hostile_memory.py --bin build/release/bin [--subject gateway] [--keys] [--memory-mib 256] [--seconds 12]
        [--connections 3] [--attack parts]

Subjects: `gateway` and `query` (its query port) are attacked by clients; `collector`, `client` (perfleet top --gateway) and
`relay` connect to a server that attacks them. Prints the subject's peak of resident memory beside what is allowed, and fails where
it is above: --memory and 64 MiB; of those that connect, what they take at a server that says nothing, and 64 MiB. (An answer without
end is bounded by the command's --memory; parts of a message without end, from a gateway that a client trusts, by nothing.)

With --keys the gateway asks for keys: attackers have one enrolled key, all of them the same, or (`hello`, `stranger`) none that it
knows. --at PORT attacks a gateway that runs already.
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

import hostile_zmtp as zmtp

ALLOWED_ON_TOP_MIB = 64
LARGE = 1 << 20  # of a message that is never finished


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def with_checksum(text):
    message = bytes.fromhex(text)
    return message[:20] + crc32c(message).to_bytes(4, "little") + message[24:]


# Cap'n Proto envelopes: one of each type, without its fields; an `ack`, which only gateways send, and `imageOffers` of no session, which get an answer.
ACK = with_checksum("0000000008000000" "0000000001000100" "0100040000000000" "0000000004000100" + 80 * "0")
IMAGE_OFFERS = with_checksum("0000000003000000" "0000000001000100" "01000b0000000000" "0000000000000000")
TYPES = [with_checksum("0000000003000000" "0000000001000100" f"0100{tag:02x}0000000000" "0000000000000000") for tag in range(12)]
# The kind of a message, and whether more parts of it follow.
PATTERNS = {
    "parts": (b"", zmtp.MORE),  # empty, and more to come, without end
    "large parts": (bytes(4096), zmtp.MORE),
    "messages": (b"x", 0),
    "larger messages": (40 * b"x", 0),
    "acks": (ACK, 0),
    "image offers": (IMAGE_OFFERS, 0),
}
PING = zmtp.command(b"PING", bytes(2))
CLIENTS = list(PATTERNS) + ["types", "pings", "unfinished", "silent", "hoards", "greetings"]
CLIENTS_WITH_KEYS = CLIENTS + ["hello", "stranger"]
SERVERS = list(PATTERNS) + ["types", "pings", "unfinished", "greetings", "endless answer"]
NOT_BOUNDED = ("parts", "large parts")  # of clients
HOARDS = {"hoards": 400, "greetings": 4000}  # connections at once, of which nothing is finished
HOARDED = 4 << 20


def flood_of(name):
    """Bytes to be sent again and again, without keys."""
    if name == "pings":
        one = PING
    elif name == "types":
        one = b"".join(zmtp.frame(message) for message in TYPES)
    else:
        payload, flags = PATTERNS[name]
        one = zmtp.frame(payload, flags)
    return one * (zmtp.AT_ONCE // len(one))


def hold(connection, end):
    """All but the last byte of a message."""
    connection.sendall(b"\x02" + LARGE.to_bytes(8, "big") + bytes(LARGE - 1))
    while time.monotonic() < end and connection.recv(4096):
        pass


def hoard(port, name, end, keys):
    """Connections of one thread, as many as may be, each with all but the last byte of a large message (or with a greeting alone),
    again whenever one is closed. Gives the number of bytes."""
    frame = b"\x02" + HOARDED.to_bytes(8, "big") + bytes(HOARDED - 1)
    left, count = {}, 0
    while time.monotonic() < end:
        for _ in range(min(64, HOARDS[name] - len(left))):
            try:
                connection = zmtp.connect(port)
                if name == "greetings":
                    connection.sendall(zmtp.greeting(b"CURVE" if keys else b"NULL"))
                    left[connection] = memoryview(b"")
                elif keys:
                    curve = zmtp.Curve(keys.server, keys.pair)
                    curve.shake_hands(connection)
                    left[connection] = memoryview(frame)
                else:
                    left[connection] = memoryview(zmtp.greeting(b"NULL") + zmtp.ready(b"DEALER") + frame)
                connection.setblocking(False)
            except OSError:
                break
        for connection in list(left):
            try:
                if left[connection]:
                    sent = connection.send(left[connection][:zmtp.AT_ONCE])
                    left[connection], count = left[connection][sent:], count + sent
                if not connection.recv(1 << 16):
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                connection.close()
                del left[connection]
    for connection in left:
        connection.close()
    return count


class Keys:
    """Of a gateway and of one collector that is enrolled there."""

    def __init__(self, binaries, folder):
        for name in ("gateway", "attacker"):
            subprocess.run([os.path.join(binaries, "perfleet"), "keygen", name], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        self.folder = folder
        self.allowed = os.path.join(folder, "allowed")
        os.mkdir(self.allowed)
        os.link(os.path.join(folder, "attacker.pub"), os.path.join(self.allowed, "attacker.pub"))
        self.server = self.read("gateway.pub", "public-key")
        self.pair = self.read("attacker.key", "public-key"), self.read("attacker.key", "secret-key")

    def read(self, name, field):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return zmtp.decode_z85(re.search(rf"{field} = (\S{{40}})", file.read()).group(1))


def attack_as_client(port, name, end, keys, byte_counts, number):
    """Again over another connection whenever one is closed."""
    block = None if keys or name not in PATTERNS and name not in ("pings", "types") else flood_of(name)
    while time.monotonic() < end:
        try:
            with zmtp.connect(port) as connection:
                if name == "silent":
                    connection.settimeout(max(0.1, end - time.monotonic()))
                    connection.recv(1 << 16)
                    connection.recv(1)
                    continue
                if keys:
                    curve = zmtp.Curve(keys.server, None if name == "stranger" else keys.pair)
                    if name == "hello":
                        connection.sendall(zmtp.greeting(b"CURVE") + curve.hello())
                        zmtp.receive(connection, 64)
                        byte_counts[number] += len(curve.receive_body(connection))
                        continue
                    curve.shake_hands(connection)
                    byte_counts[number] += 1
                    if name in PATTERNS or name == "types":
                        patterns = [PATTERNS[name]] if name in PATTERNS else [(message, 0) for message in TYPES]
                        while time.monotonic() < end:
                            connection.sendall(b"".join(curve.message(*patterns[i % len(patterns)]) for i in range(256)))
                            byte_counts[number] += 256
                    elif name == "pings":
                        while time.monotonic() < end:
                            connection.sendall(b"".join(curve.message(b"\x04PING\0\0", 2) for _ in range(256)))
                    elif name == "unfinished":
                        hold(connection, end)
                    continue
                connection.sendall(zmtp.greeting(b"NULL") + zmtp.ready(b"DEALER"))
                if name == "unfinished":
                    byte_counts[number] += LARGE
                    hold(connection, end)
                while time.monotonic() < end:
                    connection.sendall(block)
                    byte_counts[number] += len(block)
        except OSError:
            time.sleep(0.001)


class RecordedAnswer:
    """Of a real query process: what it answers to `perfleet latency --table` of VALUES numbers, message by message."""

    VALUES = 20_000
    ASK = ["latency", "--table", "--format", "json"]

    def __init__(self, binaries, folder):
        numbers, store = os.path.join(folder, "numbers"), os.path.join(folder, "numbers.store")
        with open(numbers, "w", encoding="ascii") as file:
            file.writelines(f"{number}\n" for number in range(self.VALUES))
        subprocess.run([os.path.join(binaries, "perfleet"), "import", numbers, "--format", "columns", "--data", store], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = subprocess.Popen([os.path.join(binaries, "perfleet-query"), "--data", store, "--listen", "tcp://127.0.0.1:*"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.recorded = b""
        try:
            port = int(re.search(r"tcp://127\.0\.0\.1:(\d+)", server.stdout.readline()).group(1))
            with socket.create_server(("127.0.0.1", 0)) as listener:
                client = subprocess.Popen([os.path.join(binaries, "perfleet"), *self.ASK, "--gateway",
                                           f"tcp://127.0.0.1:{listener.getsockname()[1]}"], stdout=subprocess.DEVNULL)
                inner, _ = listener.accept()
                with inner, socket.create_connection(("127.0.0.1", port)) as outer:
                    threading.Thread(target=self.forward, args=(inner, outer), daemon=True).start()
                    while data := outer.recv(1 << 16):
                        self.recorded += data
                        inner.sendall(data)
                        if client.poll() is not None:
                            break
                client.wait()
        except OSError:
            pass
        finally:
            server.terminate()
            server.wait()
        at, frames = 64, []
        while at < len(self.recorded):
            size, begin = (int.from_bytes(self.recorded[at + 1:at + 9], "big"), at + 9) if self.recorded[at] & 2 else (
                self.recorded[at + 1], at + 2)
            frames.append(self.recorded[at:begin + size])
            at = begin + size
        longest = max(frames, key=len)
        self.before, self.rows = frames[1:frames.index(longest)], longest  # without READY

    @staticmethod
    def forward(source, to):
        try:
            while data := source.recv(1 << 16):
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class HostileServer:
    """Attacks each client. Without a name it only completes the handshake."""

    def __init__(self, name, answer=None):
        self.answer = answer
        self.name, self.listener, self.byte_count, self.accepted = name, socket.create_server(("127.0.0.1", 0)), 0, 0
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            self.accepted += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection:
                if self.name == "greetings":
                    while True:
                        connection.sendall(bytes([255]) + bytes(zmtp.AT_ONCE))
                        self.byte_count += zmtp.AT_ONCE
                connection.sendall(zmtp.greeting(b"NULL"))
                zmtp.receive(connection, 64)
                connection.sendall(zmtp.ready(b"ROUTER"))
                if self.name == "endless answer":
                    self.answer_on_and_on(connection)
                elif self.name == "unfinished":
                    connection.sendall(b"\x02" + (1 << 40).to_bytes(8, "big"))
                    block = bytes(zmtp.AT_ONCE)
                elif self.name:
                    block = flood_of(self.name)
                threading.Thread(target=self.drain, args=(connection,), daemon=True).start()
                while self.name:
                    connection.sendall(block)
                    self.byte_count += len(block)
                time.sleep(3600)
        except OSError:
            pass

    def answer_on_and_on(self, connection):
        """As many chunks as the client asks for: 16 at first, then 8 with each message."""
        zmtp.receive(connection, len(zmtp.ready(b"DEALER")))
        credit, before = 16, b"".join(self.answer.before)
        connection.sendall(before)
        while True:
            self.byte_count += len(connection.recv(1 << 16)) and 0
            for _ in range(credit):
                connection.sendall(self.answer.rows)
                self.byte_count += len(self.answer.rows)
            credit = 8

    def drain(self, connection):
        try:
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass


def resident_mib(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(rf"{name}:\s+(\d+)", status.read()).group(1)) // 1024


def child_of(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as children:
            if found := children.read().split():
                return int(found[0])
    raise OSError("the gateway has no query process")


def run_server(arguments, name, folder):
    keys = Keys(arguments.bin, folder) if arguments.keys else None
    command = [os.path.join(arguments.bin, "perfleet-gateway"), "--data", os.path.join(folder, "store"), "--listen", "tcp://127.0.0.1:*",
               "--memory", f"{arguments.memory_mib}m"]
    if arguments.subject == "query":
        command += ["--query", "tcp://127.0.0.1:*"]
        if keys:
            command += ["--query-key", os.path.join(folder, "gateway.key"), "--query-clients", keys.allowed]
    else:
        command += ["--query", "none"]
        if keys:
            command += ["--key", os.path.join(folder, "gateway.key"), "--collectors", keys.allowed]
    gateway = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        field = "query" if arguments.subject == "query" else "listen"
        port = int(re.search(rf"{field}=tcp://127\.0\.0\.1:(\d+)", gateway.stdout.readline()).group(1))
        pid = child_of(gateway.pid) if arguments.subject == "query" else gateway.pid
        count = attack(arguments, port, name, keys)
        time.sleep(min(1, arguments.seconds / 5))
        if gateway.poll() is not None or not os.path.exists(f"/proc/{pid}"):
            print(f"{name}: the {arguments.subject} process ended")
            return False
        return report(name, count, pid, arguments.memory_mib + ALLOWED_ON_TOP_MIB)
    finally:
        gateway.terminate()
        gateway.wait()


def attack(arguments, port, name, keys):
    if name in HOARDS:
        return f"{hoard(port, name, time.monotonic() + arguments.seconds, keys) / 1e6:9.1f} MB"
    counts = [0] * arguments.connections
    end = time.monotonic() + arguments.seconds
    threads = [threading.Thread(target=attack_as_client, args=(port, name, end, keys, counts, number))
               for number in range(arguments.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"{sum(counts) / 1e6:9.1f} MB" if not keys else f"{sum(counts):9} times"


def start_client(arguments, port, folder):
    endpoint = f"tcp://127.0.0.1:{port}"
    program = os.path.join(arguments.bin, "perfleet")
    if arguments.subject == "collector":
        command = [os.path.join(arguments.bin, "perfleet-collector"), "--gateway", endpoint, "-F", "99", "-a"]
    elif arguments.subject == "client":
        command = [program, *(RecordedAnswer.ASK if arguments.answer else ["top"]), "--memory", f"{arguments.memory_mib}m",
                   "--gateway", endpoint]
    else:
        command = [program, "relay", "--listen", "tcp://127.0.0.1:*", "--gateway", endpoint]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    targets = []
    if arguments.subject == "relay":
        own_port = int(re.search(r"listen=tcp://127\.0\.0\.1:(\d+)", client.stdout.readline()).group(1))
        targets = [zmtp.connect(own_port) for _ in range(arguments.connections)]
        for target in targets:
            target.sendall(zmtp.greeting(b"NULL") + zmtp.ready(b"DEALER"))
    return client, targets


def peak_of_client(arguments, name, folder, seconds):
    """Of one that may end by itself: looked at until then."""
    server = HostileServer(name, arguments.answer)
    client, targets = start_client(arguments, server.port, folder)
    peak = now = 0
    end = time.monotonic() + seconds
    cpu = os.sysconf("SC_CLK_TCK")
    spent = 0.0
    while time.monotonic() < end and client.poll() is None:
        try:
            peak, now = resident_mib(client.pid, "VmHWM"), resident_mib(client.pid, "VmRSS")
            with open(f"/proc/{client.pid}/stat", encoding="ascii") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            spent = (int(fields[11]) + int(fields[12])) / cpu
        except (OSError, AttributeError):
            pass
        time.sleep(0.05)
    status = client.poll()
    client.kill()
    client.wait()
    for target in targets:
        target.close()
    return peak, now, spent, status, server


def run_client(arguments, name, folder):
    arguments.answer = RecordedAnswer(arguments.bin, folder) if name == "endless answer" else None
    base = arguments.memory_mib if arguments.answer else peak_of_client(arguments, None, folder, 3)[0]
    peak, now, spent, status, server = peak_of_client(arguments, name, folder, arguments.seconds)
    allowed = float("inf") if name in NOT_BOUNDED else base + ALLOWED_ON_TOP_MIB
    ended = "" if status is None else f", ended with {status}"
    print(f"{name:16} {server.byte_count / 1e6:9.1f} MB over {server.accepted} connections, peak {peak:5} MiB, at last {now:5} MiB, "
          f"allowed {allowed} MiB; {spent:.1f} s CPU{ended}", flush=True)
    return peak <= allowed and (status is None or status >= 0)


def report(name, count, pid, allowed):
    peak, after = resident_mib(pid, "VmHWM"), resident_mib(pid, "VmRSS")
    print(f"{name:16} {count}, peak {peak:5} MiB, afterwards {after:5} MiB, allowed {allowed} MiB", flush=True)
    return peak <= allowed


def run(arguments, name):
    with tempfile.TemporaryDirectory() as folder:
        if arguments.subject in ("gateway", "query"):
            return run_server(arguments, name, folder)
        return run_client(arguments, name, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--subject", choices=["gateway", "query", "collector", "client", "relay"], default="gateway")
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--memory-mib", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--connections", type=int, default=3)
    parser.add_argument("--attack", choices=sorted({*CLIENTS_WITH_KEYS, *SERVERS}), action="append")
    parser.add_argument("--at", type=int, metavar="PORT")
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)
    if arguments.at:
        print(attack(arguments, arguments.at, arguments.attack[0], None))
        return 0
    all_attacks = (CLIENTS_WITH_KEYS if arguments.keys else CLIENTS) if arguments.subject in ("gateway", "query") else SERVERS
    if arguments.subject in ("collector", "relay"):
        all_attacks = all_attacks[:-1]  # they ask for no answer
    results = [run(arguments, name) for name in arguments.attack or all_attacks]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
