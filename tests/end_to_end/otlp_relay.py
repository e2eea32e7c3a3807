#!/usr/bin/env python3
"""Profiles as OTLP: the export format `otlp`, and `perfleet relay --otlp`.

otlp_relay.py BIN_DIR: what is exported and pushed to a second gateway gives the same `top` there; a receiver that is
written here from the published definitions counts what it accepts of a store and of a gateway, is busy, refuses, drops
connections, is killed, and uses TLS. Its totals are those of `top`. Exit status 1 when an answer differs.
"""
import collections
import gzip
import http.server
import json
import os
import re
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

from http_access import Certificates
from http_interfaces import check, failures
from http_push import OTLP, PROTOBUF, Pushed, ebpf_shaped
from protobuf_text import field, fields, packed


def one(message, number, default=b""):
    return dict(fields(message)).get(number, default)


def all_of(message, number):
    return [value for tag, value in fields(message) if tag == number]


class Request:
    """An ExportProfilesServiceRequest, read by opentelemetry/proto/profiles/v1development/profiles.proto of 1.11."""

    def __init__(self, message):
        dictionary = one(message, 2)
        self.mappings, self.locations, self.functions, self.links, strings, self.attributes, self.stacks = (
            all_of(dictionary, number) for number in range(1, 8))
        self.strings = [text.decode() for text in strings]
        for table in (self.mappings, self.locations, self.functions, self.links, strings, self.attributes, self.stacks):
            check(table and table[0] == b"" and len(set(table)) == len(table), "tables begin with an empty entry and have each once")
        self.rows = []  # (resource, type, unit, [frames, leaf first], attributes, value, time)
        frames = [self.frame(index) for index in range(len(self.locations))]
        self.chains = [[frames[index] for index in packed(one(stack, 1))] for stack in self.stacks]
        self.read_attributes = [None] + [self.attribute(index) for index in range(1, len(self.attributes))]
        for of_resource in all_of(message, 1):
            attributes = {one(each, 1).decode(): self.value(one(each, 2)) for each in all_of(one(of_resource, 1), 1)}
            for scope in all_of(of_resource, 2):
                check(one(one(scope, 1), 1) == b"perfleet", "the scope")
                for profile in all_of(scope, 2):
                    self.read_profile(attributes, profile)

    def value(self, any_value):
        (number, value), = fields(any_value)
        return value.decode() if number == 1 else value

    def attribute(self, index):
        message = self.attributes[index]
        return self.strings[one(message, 1, 0)], self.value(one(message, 2))

    def frame(self, index):
        location = self.locations[index]
        mapping = self.mappings[one(location, 1, 0)]
        lines = all_of(location, 3)
        name = self.strings[one(self.functions[one(lines[0], 1, 0)], 1, 0)] if lines else None
        return name, self.strings[one(mapping, 4, 0)], one(location, 2, 0)

    def read_profile(self, resource, profile):
        kind = [self.strings[one(one(profile, 1), number, 0)] for number in (1, 2)]
        begin, duration = one(profile, 3, 0), one(profile, 4, 0)
        for sample in map(dict, map(fields, all_of(profile, 2))):
            frames = self.chains[sample.get(1, 0)]
            attributes = dict(self.read_attributes[index] for index in packed(sample.get(2, b"")))
            values = packed(sample[4])
            times = struct.unpack(f"<{len(sample[5]) // 8}Q", sample[5])
            check(len(values) == len(times) > 0, "a timestamp for each value")
            check(all(begin <= at <= begin + duration for at in times), "times lie within the profile")
            self.rows += [(resource, *kind, frames, attributes, value, at) for value, at in zip(values, times)]


def partial_success(count, text):
    return field(1, field(1, count) + field(2, text.encode()))


class Receiver:
    """Answers by `plan`, a list of what it does with the requests to come, then accepts. It answers first and reads later,
    for a busy machine takes longer to read a message in Python than the relay waits."""

    def __init__(self, port=0, context=None):
        receiver = self
        self.bodies, self.read, self.rows, self.plan, self.seen, self.headers = [], 0, [], [], 0, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, http_request):
        self.seen += 1
        self.headers.append(dict(http_request.headers))
        action = self.plan.pop(0) if self.plan else (200, {}, b"")
        size = int(http_request.headers["Content-Length"])
        if action == "drop":
            http_request.rfile.read(size // 2)
            http_request.connection.close()
            return
        body = http_request.rfile.read(size)
        status, headers, reply = action
        if http_request.path != OTLP:
            status, reply = 404, b"no such path"
        if status == 200 and not reply:
            self.bodies.append(body)
        http_request.send_response(status)
        for name, value in {"Content-Type": "application/x-protobuf", "Content-Length": str(len(reply)), "Connection": "close", **headers}.items():
            http_request.send_header(name, value)
        http_request.end_headers()
        http_request.wfile.write(reply)

    @property
    def accepted(self):
        """All accepted rows."""
        while self.read < len(self.bodies):
            self.rows += Request(gzip.decompress(self.bodies[self.read])).rows
            self.read += 1
        return self.rows

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, scheme="http", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}"


def relay(gateway, url, *words, wait=True):
    command = [os.path.join(gateway.bin, "perfleet"), "relay", "--otlp", url, *words]
    if not wait:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr


def ledger(text):
    """(read, accepted, rejected, not sent) of the last line."""
    lines = re.findall(r"rows: (\d+) read = (\d+) accepted \+ (\d+) rejected.* \+ (\d+) not sent", text)
    return tuple(int(word) for word in lines[-1]) if lines else text


def wait_until(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    check(False, "waited in vain: " + what)


def own(rows):
    """{(type, unit, innermost function): sum}."""
    sums = collections.Counter()
    for _, kind, unit, frames, _, value, _ in rows:
        sums[kind, unit, frames[0][0]] += value
    return sums


def counted(gateway, target, kind, unit):
    return collections.Counter({(kind, unit, name): self for name, (self, _) in gateway.rows(target, kind).items() if self})


def top(gateway, target, event, by):
    answer = gateway.table("top", select=f'{{target="{target}"}}', event=event, by=by, limit="100000")
    return sorted(json.dumps(row) for row in answer["rows"])


def check_round_trip(first, folder):
    """What is exported and pushed again is the same."""
    second = Pushed(first.bin, folder)
    second.data = os.path.join(folder, "second")
    second.start()
    try:
        file = os.path.join(folder, "all.otlp")
        first.perfleet("export", "--gateway", first.query, "-o", file)
        with open(file, "rb") as opened:
            message = opened.read()
        rows = Request(message).rows
        check(len(rows) == 32_000 + recorded_rows(first), f"rows of the export: {len(rows)}")
        check(first.get("/api/v1/export", to="otlp")[2] == message, "HTTP exports the same")
        status, _, body = second.post(OTLP, gzip.compress(message), {**PROTOBUF, "Content-Encoding": "gzip"})
        check((status, body) == (200, b""), f"a push of the export: {status} {body}")
        for target, event in (("otlp-host", "samples"), ("otlp-host", "cpu"), ("here", "cpu-clock")):
            for by in ("symbol", "comm,symbol", "pid,symbol", "tid", "cpu"):
                expected, got = top(first, target, event, by), top(second, target, event, by)
                differing = [f"{a} | {b}" for a, b in zip(expected, got) if a != b][:3]
                check(expected == got, f"top --by {by} of {event} of {target}: {len(expected)} and {len(got)} rows; {differing}")
        labels = second.table("sessions", select='{target="otlp-host"}')["rows"][0][-1]
        check("service_name=shop" in labels, f"labels: {labels}")
    finally:
        second.stop()


def recorded_rows(gateway):
    return gateway.table("top", select='{target="here"}', event="cpu-clock")["measure"]["samples"]


def check_store(gateway):
    """Sent from the gateway, and from its store beside it."""
    receiver = Receiver()
    total = 32_000 + recorded_rows(gateway)
    for source in (("--gateway", gateway.query), ("--data", gateway.data)):
        receiver.bodies, receiver.read, receiver.rows = [], 0, []
        code, text = relay(gateway, receiver.url(), *source)
        check((code, ledger(text)) == (0, (total, total, 0, 0)), f"{source[0]}: {code}: {text}")
        sums = own(receiver.accepted)
        for target, kind, unit in (("otlp-host", "samples", "count"), ("otlp-host", "cpu", "nanoseconds"), ("here", "cpu-clock", "nanoseconds")):
            got = collections.Counter({key: value for key, value in sums.items() if key[0] == kind and key[2]})
            expected = counted(gateway, target, kind, unit)
            nameless = sum(value for key, value in sums.items() if key[0] == kind and not key[2])
            shown_nameless = sum(value for key, value in expected.items() if key not in got)
            check({key: expected[key] for key in got} == dict(got) and nameless == shown_nameless,
                  f"{kind} of {target}: {(got - expected).most_common(2)} {nameless} {shown_nameless}")
        resources = {row[0]["host.name"]: row[0] for row in receiver.accepted}
        check(set(resources) == {"otlp-host", "here"} and resources["otlp-host"]["service.name"] == "shop", f"resources: {resources}")
        threads = {(row[4]["thread.name"], row[4]["process.pid"], row[4]["thread.id"]) for row in receiver.accepted if row[1] == "samples"}
        check(len(threads) == 20 and ("app3", 1003, 1003) in threads, f"threads: {sorted(threads)[:3]}")
    headers = receiver.headers[-1]
    check((headers["Content-Type"], headers["Content-Encoding"]) == ("application/x-protobuf", "gzip"), f"{headers}")
    code, text = relay(gateway, receiver.url(), "--data", gateway.data, "--select", '{target="otlp-host"}', "--event", "samples", "--comm", "app3")
    check((code, ledger(text)) == (0, (800, 800, 0, 0)), f"a selection: {code}: {text}")
    receiver.stop()


def check_refusals(gateway, folder):
    words = ("--data", gateway.data, "--select", '{target="otlp-host"}', "--event", "samples")
    receiver = Receiver()
    busy = (503, {"Retry-After": "1"}, b"")
    receiver.plan = [busy, "drop", (429, {}, b"")]
    code, text = relay(gateway, receiver.url(), *words)
    check((code, ledger(text), receiver.seen) == (0, (16_000, 16_000, 0, 0), 4), f"busy, dropped: {code}: {text}")
    check(len(receiver.accepted) == 16_000, "each row once")
    receiver.plan = [(200, {}, partial_success(1, "too old"))]
    code, text = relay(gateway, receiver.url(), *words)
    check((code, ledger(text)) == (1, (16_000, 0, 16_000, 0)) and "partial_success: too old" in text, f"partial: {code}: {text}")
    receiver.plan = [(400, {"Content-Type": "text/plain"}, b"bad frames\x1b[31m")]
    code, text = relay(gateway, receiver.url(), *words)
    check((code, ledger(text)) == (1, (16_000, 0, 16_000, 0)) and "HTTP 400: bad frames" in text and "\x1b" not in text, f"400: {code}: {text}")
    seen = receiver.seen
    code, text = relay(gateway, receiver.url() + "/elsewhere", *words)
    check((code, ledger(text), receiver.seen - seen) == (1, (16_000, 0, 16_000, 0), 1) and "HTTP 404: no such path" in text, f"404: {code}: {text}")
    receiver.plan = [busy] * 100
    code, text = relay(gateway, receiver.url(), *words, "--otlp-give-up-after", "2")
    check((code, ledger(text)) == (1, (16_000, 0, 0, 16_000)) and "gives up" in text, f"giving up: {code}: {text}")
    receiver.plan = []
    headers = os.path.join(folder, "headers")
    with open(headers, "w") as file:
        file.write("# of a test\nAuthorization: Bearer secret-word\n")
    os.chmod(headers, 0o644)
    code, text = relay(gateway, receiver.url(), *words, "--otlp-header-file", headers)
    check(code != 0 and "chmod o-rwx" in text and "secret-word" not in text, f"a file that others read: {code}: {text}")
    os.chmod(headers, 0o600)
    code, text = relay(gateway, receiver.url(), *words, "--otlp-header-file", headers, "--otlp-header", "X-Scope-OrgID=a")
    check(code == 0 and receiver.headers[-1]["Authorization"] == "Bearer secret-word" and receiver.headers[-1]["X-Scope-OrgID"] == "a",
          f"headers: {code}: {text}")
    receiver.stop()
    for wrong in (("ftp://a",), ("http://a:b",), ("http://user@a",), (receiver.url(), "--otlp-header", "a"), (receiver.url(), "--listen", "tcp://127.0.0.1:*"),
                  (receiver.url(), "--follow", "--until", "now"), (receiver.url(), "--follow", "--time", "10%")):
        check(relay(gateway, *wrong)[0] == 2, f"usage: {wrong}")


def check_tls(gateway, folder):
    certificates = Certificates(folder)
    words = ("--data", gateway.data, "--select", '{target="otlp-host"}', "--event", "samples")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates["server.pem"], certificates["server.key"])
    receiver = Receiver(context=context)
    for host in ("127.0.0.1", "localhost"):
        code, text = relay(gateway, receiver.url("https", host), *words, "--otlp-ca", certificates["ca.pem"])
        check((code, ledger(text)) == (0, (16_000, 16_000, 0, 0)), f"TLS: {code}: {text}")
    for why, url, authority in (("another authority", receiver.url("https"), "other-ca.pem"), ("another name", receiver.url("https", "127.0.0.2"), "ca.pem")):
        receiver.bodies, receiver.read, receiver.rows = [], 0, []
        code, text = relay(gateway, url, *words, "--otlp-ca", certificates[authority], "--otlp-give-up-after", "1")
        check((code, ledger(text), receiver.accepted) == (1, (16_000, 0, 0, 16_000), []), f"{why}: {code}: {text}")
    receiver.stop()


def check_follow(gateway, source):
    """Rows that come later, while the receiver is killed and started again; each arrives once."""
    receiver = Receiver()
    port, seen = receiver.port, []
    process = relay(gateway, receiver.url(), *source, "--event", "samples", "--select", '{service_name="shop"}', "--follow", wait=False)
    before = gateway.total("otlp-host")
    wait_until(lambda: len(receiver.accepted) == before, f"what is there: {len(receiver.accepted)} of {before}")
    for number in range(3):
        if number == 1:
            receiver.stop()
            seen += receiver.accepted
        message, _ = ebpf_shaped(2_000, 5, names=f"late{source[0]}{number}")
        check(gateway.post(OTLP, message)[0] == 200, "a push")
        if number == 1:
            time.sleep(1.5)
            receiver = Receiver(port)
    wait_until(lambda: len(seen) + len(receiver.accepted) >= before + 6_000, "what came later")
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=60)
    received = seen + receiver.accepted
    check((process.returncode, ledger(text)) == (0, (before + 6_000, before + 6_000, 0, 0)), f"the end: {process.returncode}: {text}")
    check(own(received) == counted(gateway, "otlp-host", "samples", "count"), "each row once")
    receiver.stop()


def main():
    with tempfile.TemporaryDirectory(prefix="perfleet-otlp-") as folder:
        gateway = Pushed(sys.argv[1], folder)
        busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec ls -lR /usr/include > /dev/null"
        gateway.perfleet("record", "-q", "--data", gateway.data, "--target", "here", "-e", "cpu-clock", "-F", "499", "-g", "--", "sh", "-c", busy)
        gateway.start()
        try:
            message, _ = ebpf_shaped(16_000)
            check(gateway.post(OTLP, message)[0] == 200, "what is sent on")
            check_round_trip(gateway, folder)
            check_store(gateway)
            check_refusals(gateway, folder)
            check_tls(gateway, folder)
            check_follow(gateway, ("--data", gateway.data))
            check_follow(gateway, ("--gateway", gateway.query))
        finally:
            gateway.stop()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
