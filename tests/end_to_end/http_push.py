#!/usr/bin/env python3
"""Profiles that agents push over HTTP: OTLP, Pyroscope's Push and /ingest.

http_push.py BIN_DIR: a real gateway gets an OTLP message as the eBPF profiler makes it and the same samples as a profile
of pprof, and answers the same of both; requests are repeated, also after processes were killed, and stored once; what
can't be read is rejected and counted. Exit status 1 when an answer differs.
"""
import base64
import collections
import gzip
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error

from http_interfaces import Gateway, check, failures, pprof
from protobuf_text import field, fields, varint

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
OTLP = "/v1development/profiles"
PUSH = "/push.v1.PusherService/Push"
PERIOD_NS = 50_000_000


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def indices(number, values):
    return field(number, b"".join(varint(value) for value in values)) if values else b""


class Tables:
    """The dictionary of an OTLP message."""

    def __init__(self):
        self.strings, self.functions, self.locations, self.stacks, self.attributes, self.mappings = (
            {"": 0}, {b"": 0}, {b"": 0}, {b"": 0}, {b"": 0}, {b"": 0})

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def attribute(self, key, value):
        any_value = field(3, value) if isinstance(value, int) else field(1, value.encode())
        return self.attributes.setdefault(field(1, self.string(key)) + field(2, any_value), len(self.attributes))

    def function(self, name, file=""):
        message = field(1, self.string(name)) + (field(3, self.string(file)) + field(4, 10) if file else b"")
        number = self.functions.setdefault(message, len(self.functions))
        line = field(3, field(1, number) + field(2, 12))
        kind = indices(4, [self.attribute("profile.frame.type", "kernel" if name.startswith("k_") else "cpython")])
        return self.locations.setdefault(line + kind, len(self.locations))

    def address(self, file, build_id, address):
        mapping = (field(2, 1 << 30) + field(4, self.string(file)) +
                   indices(5, [self.attribute("process.executable.build_id.gnu", build_id)]))
        number = self.mappings.setdefault(mapping, len(self.mappings))
        kind = indices(4, [self.attribute("profile.frame.type", "native")])
        return self.locations.setdefault(field(1, number) + field(2, address) + kind, len(self.locations))

    def stack(self, locations):
        return self.stacks.setdefault(indices(1, locations), len(self.stacks))

    def message(self):
        tables = ((1, self.mappings), (2, self.locations), (3, self.functions), (6, self.attributes), (7, self.stacks))
        return (b"".join(field(number, entry) for number, table in tables for entry in table) + field(4, b"") +
                b"".join(field(5, text.encode()) for text in self.strings))


def resource(**attributes):
    def value(of):
        return field(3, of) if isinstance(of, int) else field(1, of.encode())
    return field(1, b"".join(field(1, field(1, key.replace("__", ".").encode()) + field(2, value(of)))
                             for key, of in attributes.items()))


def profile(tables, samples, kind=("samples", "count"), period=("cpu", "nanoseconds"), time_ns=0):
    return field(2, field(1, field(1, tables.string(kind[0])) + field(2, tables.string(kind[1]))) +
                 b"".join(field(2, sample) for sample in samples) + (fixed64(3, time_ns) if time_ns else b"") +
                 field(5, field(1, tables.string(period[0])) + field(2, tables.string(period[1]))) + field(6, PERIOD_NS))


def request(tables, *of_resources):
    """Each: (resource, profiles)."""
    scope = field(1, field(1, b"ebpf-profiler"))
    return b"".join(field(1, who + field(2, scope + b"".join(profiles))) for who, profiles in of_resources) + field(2, tables.message())


def ebpf_shaped(sample_count, processes=20, begin_ns=None, names="s"):
    """(message, {(command, stack): count}): samples without values, each timestamp is one."""
    draw = random.Random(7)
    begin_ns = begin_ns or time.time_ns() - 30_000_000_000
    tables, of_resources, counts = Tables(), [], collections.Counter()
    chains = [tuple(f"{names}_{draw.randrange(60)}" for _ in range(draw.randrange(3, 40))) + ("k_entry",) for _ in range(400)]
    for number in range(processes):
        by_stack = collections.defaultdict(list)
        for _ in range(sample_count // processes):
            chain = draw.choice(chains)
            by_stack[chain].append(begin_ns + draw.randrange(20_000_000_000))
            counts[f"app{number}", chain] += 1
        samples = []
        for chain, times in by_stack.items():
            locations = [tables.function(name, f"/src/{name}.py") for name in reversed(chain)]
            attributes = [tables.attribute("thread.name", f"app{number}"), tables.attribute("thread.id", 1000 + number),
                          tables.attribute("cpu.logical_number", number % 4)]
            samples.append(field(1, tables.stack(locations)) + indices(2, attributes) +
                           field(5, b"".join(struct.pack("<Q", at) for at in times)))
        who = resource(host__name="otlp-host", service__name="shop", process__pid=1000 + number,
                       process__executable__name=f"app{number}")
        of_resources.append((who, [profile(tables, samples)]))
    return request(tables, *of_resources), counts


def twin(counts):
    return pprof({chain: count for chain, count in by_chain(counts).items()}, PERIOD_NS)


def by_chain(counts):
    chains = collections.Counter()
    for (_, chain), count in counts.items():
        chains[chain] += count
    return chains


class Pushed(Gateway):
    def post(self, path, body, headers=PROTOBUF, **parameters):
        return self.get(path, headers, "POST", body, **parameters)

    def table(self, command, **options):
        return json.loads(self.ask(command, **options))

    def rows(self, target, event="samples", by="symbol"):
        """{symbol: (self, with callees)}."""
        answer = self.table("top", select=f'{{target="{target}"}}', event=event, by=by, limit="100000")
        names = [column["name"] for column in answer["columns"]]
        place = [next(i for i, name in enumerate(names) if name.startswith(wanted)) for wanted in ("symbol", "self", "children")]
        return {row[place[0]]: (row[place[1]], row[place[2]]) for row in answer["rows"]}

    def total(self, target, event="samples"):
        return sum(own for own, _ in self.rows(target, event).values())

    def session_count(self):
        return len(self.table("sessions")["rows"])

    def wait_for_queries(self):
        for _ in range(100):
            try:
                if self.get("/healthz")[0] == 200:
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.1)
        raise SystemExit("the query process doesn't come back")

    def post_until_stored(self, path, body, **options):
        """As agents do: again after an error that says so."""
        for _ in range(60):
            try:
                status, _, reply = self.post(path, body, **options)
                if status != 503:
                    return status, reply
            except (urllib.error.URLError, ConnectionError, OSError):
                pass
            time.sleep(0.2)
        return 503, b""


def check_twins(gateway):
    message, counts = ebpf_shaped(16_000)
    status, headers, body = gateway.post(OTLP, gzip.compress(message), {**PROTOBUF, "Content-Encoding": "gzip"})
    check((status, body, headers["Content-Type"]) == (200, b"", "application/x-protobuf"), f"OTLP: {status} {body}")
    name = 'shop.cpu{hostname=twin,service_name=shop}'
    status, _, body = gateway.post("/ingest", twin(counts), {}, name=name, format="pprof")
    check((status, body) == (200, b""), f"pprof: {status} {body}")
    own = collections.Counter()
    for chain, count in by_chain(counts).items():
        own[chain[-1]] += count
    check(gateway.total("otlp-host") == 16_000, "16,000 samples")
    check(gateway.total("otlp-host", "cpu") == 16_000 * PERIOD_NS, "their time")
    for event in ("samples", "cpu"):
        check(gateway.rows("otlp-host", event) == gateway.rows("twin", event), f"OTLP and its twin differ in {event}")
    check({name: own_count for name, (own_count, _) in gateway.rows("otlp-host").items() if own_count} == dict(own), "self of functions")
    # Threads, processors and times are there, too.
    answer = gateway.table("top", select='{target="otlp-host"}', event="samples", by="comm", children="" )
    by_comm = {row[0]: row[1] for row in ([cell for cell in line if cell is not None] for line in answer["rows"])}
    check(len(by_comm) == 20, f"threads: {by_comm}")
    # Grafana sees both.
    for target in ("otlp-host", "twin"):
        status, reply = gateway.call("SelectMergeStacktraces", {
            "profile_typeID": "process_cpu:samples:count:cpu:nanoseconds", "label_selector": f'{{target="{target}",service_name="shop"}}',
            "start": (time.time_ns() // 1_000_000) - 3_600_000, "end": time.time_ns() // 1_000_000})
        check(status == 200 and reply["flamegraph"]["total"] == "16000", f"Grafana: {target}")
    lines = {row[0]: row[1] for row in ([cell for cell in line if isinstance(cell, str)] for line in gateway.table(
        "top", select='{target="otlp-host"}', event="samples", by="symbol,line")["rows"])}
    check({line for line in lines.values()} | set(lines) >= {"s_1.py:12", "k_entry.py:12"}, f"lines, also of callers: {sorted(lines.items())[:3]}")
    # Again: stored once.
    sessions = gateway.session_count()
    for _ in range(3):
        check(gateway.post(OTLP, message)[0] == 200, "OTLP again, not packed")
        check(gateway.post("/ingest", twin(counts), {}, name=name, format="pprof")[0] == 200, "pprof again")
    check((gateway.total("otlp-host"), gateway.session_count()) == (16_000, sessions), "repeated requests are stored once")
    return message


def check_json(gateway):
    now = time.time_ns()
    message = {
        "resourceProfiles": [{
            "resource": {"attributes": [{"key": "host.id", "value": {"stringValue": "json-host"}},
                                        {"keyStrindex": 5, "value": {"stringValueStrindex": 6}}]},
            "scopeProfiles": [{"scope": {"name": "maker"}, "profiles": [{
                "sampleType": {"typeStrindex": 3, "unitStrindex": 4},
                "samples": [{"stackIndex": 1, "linkIndex": 1, "values": ["7", 8], "timestampsUnixNano": [str(now - 5), now - 4]}],
                "timeUnixNano": str(now)}]}]}],
        "dictionary": {
            "stringTable": ["", "outer", "inner", "off_cpu", "nanoseconds", "service.name", "billing"],
            "functionTable": [{}, {"nameStrindex": 1}, {"nameStrindex": 2}],
            "locationTable": [{}, {"lines": [{"functionIndex": 1, "line": "3"}]}, {"lines": [{"functionIndex": 2}]}],
            "mappingTable": [{}], "attributeTable": [{}], "stackTable": [{}, {"locationIndices": [2, 1]}],
            "linkTable": [{}, {"traceId": "0102030405060708090a0b0c0d0e0f10", "spanId": "0102030405060708"}]}}
    status, headers, body = gateway.post(OTLP, json.dumps(message).encode(), JSON)
    check((status, json.loads(body), headers["Content-Type"]) == (200, {}, "application/json"), f"OTLP JSON: {status} {body}")
    check(gateway.rows("json-host", "off_cpu") == {"inner": (15, 15), "outer": (0, 15)}, f"JSON: {gateway.rows('json-host', 'off_cpu')}")
    answer = gateway.table("top", select='{service_name="billing"}', event="off_cpu", tag="span_id=0102030405060708")
    check(len(answer["rows"]) == 2, "spans are labels of samples")
    labels = gateway.table("sessions", select='{service_name="billing"}')["rows"][0][-1]
    check("producer=maker" in labels, f"labels: {labels}")
    message["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]["samples"][0]["stackIndex"] = 9
    status, _, body = gateway.post(OTLP, json.dumps(message).encode(), JSON)
    check((status, json.loads(body)) == (200, {"partialSuccess": {"rejectedProfiles": "1", "errorMessage": "it uses stack 9 of 2"}}),
          f"a broken reference: {status} {body}")
    message["dictionary"]["stackTable"] = 5
    status, _, body = gateway.post(OTLP, json.dumps(message).encode(), JSON)
    check(status == 400 and json.loads(body)["code"] == 3, f"a wrong type: {status} {body}")


def check_layouts(gateway):
    """1.9 had values, attributes and links at other numbers; what may be either is rejected."""
    tables, now = Tables(), time.time_ns()
    stack = tables.stack([tables.function("old")])
    name = tables.attribute("thread.name", "elder")

    def sent(target, sample):
        who = resource(host__name=target)
        status, _, body = gateway.post(OTLP, request(tables, (who, [profile(tables, sample, period=("", ""), time_ns=now)])))
        return status, dict(fields(dict(fields(body)).get(1, b""))).get(1, 0)

    old = field(1, stack) + indices(2, [40]) + indices(3, [name])
    check(sent("of-1.9", [old]) == (200, 0) and gateway.total("of-1.9") == 40, "a message of OTLP 1.9")
    new = field(1, stack) + indices(2, [name]) + indices(4, [41])
    check(sent("of-1.10", [new]) == (200, 0) and gateway.total("of-1.10") == 41, "a message of OTLP 1.10")
    check(sent("of-both", [old, new]) == (200, 1), "samples of two layouts are rejected")
    check(sent("of-any", [field(1, stack) + indices(2, [4_000])]) == (200, 1), "samples of an unclear layout are rejected")
    check(sent("of-none", [field(1, stack) + indices(2, [name]) + fixed64(5, now)]) == (200, 0) and gateway.total("of-none") == 1, "only a timestamp")
    check(not {"of-both", "of-any"} & {row[2] for row in gateway.table("sessions")["rows"]}, "what is rejected leaves nothing")


def check_addresses(gateway):
    """Frames without names are named by the files of their builds, as those of samples are."""
    program = os.path.join(os.path.dirname(gateway.bin), "test-bin", "shares_workload")
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = notes.split("Build ID:")[1].split()[0]
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    main = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T main"))
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    segments = [line.split() for line in headers.splitlines() if line.strip().startswith("LOAD")]
    offset = next(main - int(s[2], 16) + int(s[1], 16) for s in segments if int(s[2], 16) <= main < int(s[2], 16) + int(s[5], 16))
    tables = Tables()
    stack = tables.stack([tables.address(program, build_id, offset + 2)])
    sample = field(1, stack) + field(5, struct.pack("<Q", time.time_ns()))
    check(gateway.post(OTLP, request(tables, (resource(host__name="native"), [profile(tables, [sample])])))[0] == 200, "native")
    check(gateway.rows("native") == {"main": (1, 1)}, f"a native frame: {gateway.rows('native')}")


def check_pyroscope(gateway):
    profile_bytes = pprof({("main", "serve", "parse"): 40, ("main", "idle"): 20})

    def push(target, raw, name="process_cpu"):
        labels = {"__name__": name, "service_name": "api", "hostname": target}
        return field(1, b"".join(field(1, field(1, key.encode()) + field(2, value.encode())) for key, value in labels.items()) +
                     field(2, field(1, raw) + field(2, b"some-id")))

    status, headers, body = gateway.post(PUSH, push("pushed", profile_bytes), {"Content-Type": "application/proto"})
    check((status, body, headers["Content-Type"]) == (200, b"", "application/proto"), f"Push: {status} {body}")
    check(gateway.total("pushed") == 60 and gateway.rows("pushed")["main"] == (0, 60), "Push")
    as_json = {"series": [{"labels": [{"name": "__name__", "value": "mutex"}, {"name": "service_name", "value": "api"},
                                      {"name": "hostname", "value": "as-json"}],
                           "samples": [{"rawProfile": base64.b64encode(profile_bytes).decode()}]}]}
    check(gateway.post(PUSH, json.dumps(as_json).encode(), JSON)[::2] == (200, b"{}"), "Push in JSON")
    check(gateway.total("as-json", "mutex_samples") == 60, "events of locks have the profile's name")
    status, _, body = gateway.post(PUSH, push("pushed", b"no profile"), {"Content-Type": "application/proto"})
    check(status == 400 and json.loads(body)["code"] == "invalid_argument", f"no profile: {status} {body}")

    now = int(time.time())
    for format_name, body, total in (("folded", b"main;work;inner 30\nmain;work 70\n", 100), ("lines", b"main;a\nmain;a\r\nmain;b\n", 3)):
        target = "of-" + format_name
        status, _, reply = gateway.post("/ingest", body, {}, name=f"shop.cpu{{hostname={target}}}", format=format_name, sampleRate="50",
                                        **{"from": str(now - 10), "until": str(now * 1000)})
        check((status, reply) == (200, b""), f"{format_name}: {status} {reply}")
        check((gateway.total(target), gateway.total(target, "cpu")) == (total, total * 20_000_000), format_name)
    form = (b'--xYz\r\nContent-Disposition: form-data; name="profile"; filename="p"\r\nContent-Type: application/octet-stream\r\n\r\n' +
            profile_bytes + b'\r\n--xYz\r\ncontent-disposition: form-data; name="other"\r\n\r\n\r\n--xYz--\r\n')
    status, _, body = gateway.post("/pyroscope/ingest", form, {"Content-Type": 'multipart/form-data; boundary="xYz"'}, name="node{hostname=form}")
    check((status, body) == (200, b"") and gateway.total("form") == 60, f"a form: {status} {body}")
    for parameters, status in (({"name": "a{b", "format": "folded"}, 400), ({"name": "a", "format": "jfr"}, 415), ({"format": "folded"}, 400),
                               ({"name": "a", "sampleRate": "0"}, 400), ({"name": "a", "from": "yesterday"}, 400)):
        check(gateway.post("/ingest", b"main 1\n", {}, **parameters)[0] == status, f"/ingest {parameters}")
    status, _, body = gateway.post("/ingest", b"main 1\nwork\n", {}, name="a")
    check(status == 400 and b"line 2" in body, f"a line without a count: {body}")


def check_errors(gateway, message):
    for headers, status in (({"Content-Type": "text/plain"}, 415), ({**PROTOBUF, "Origin": "http://example.org"}, 403),
                            ({**PROTOBUF, "Content-Encoding": "br"}, 415), ({**PROTOBUF, "Content-Encoding": "gzip"}, 400),
                            ({**PROTOBUF, "OTLP-Profiles-Development-Version": "2"}, 400),
                            ({**PROTOBUF, "OTLP-Profiles-Development-Version": "1"}, 200)):
        check(gateway.post(OTLP, message, headers)[0] == status, f"{headers}: {gateway.post(OTLP, message, headers)[0]}")
    check(gateway.get(OTLP)[0] == 405, "GET of a path that takes profiles")
    for cut in (1, len(message) // 2, len(message) - 1):
        check(gateway.post(OTLP, message[:cut])[0] == 400, f"cut after {cut} bytes")
    bomb = gzip.compress(bytes(65 << 20))
    check(gateway.post(OTLP, bomb, {**PROTOBUF, "Content-Encoding": "gzip"})[0] == 413, "65 MiB of zeros")
    deep = json.dumps({"resourceProfiles": []}).encode().replace(b"[]", b"[" * 100_000 + b"]" * 100_000)
    check(gateway.post(OTLP, deep, JSON)[0] == 400, "deep JSON")
    ahead, _ = ebpf_shaped(40, 2, time.time_ns() + 3 * 3_600_000_000_000, "future")
    status, _, body = gateway.post(OTLP, ahead)
    check(status == 200 and dict(fields(dict(fields(body))[1]))[1] == 2, "profiles of the future are rejected")


def check_clients(bin_dir, folder):
    """Who pushes is known by the token: it names the session's client, and is part of what makes requests the same."""
    gateway = Pushed(bin_dir, folder)
    lines = b"".join(gateway.perfleet("keygen", "--token", "--role", "push", name, cwd=folder) for name in ("ci", "edge"))
    small = gateway.perfleet("keygen", "--token", "--role", "push", "small", cwd=folder).rstrip() + b" quota=1k\n"
    with open(os.path.join(folder, "tokens"), "wb") as file:
        file.write(lines + small)
    gateway.data = os.path.join(folder, "of-clients")
    gateway.start("--http-tokens", os.path.join(folder, "tokens"))
    try:
        body = b"main;work 5\n"
        for name in ("ci", "edge", "edge"):
            with open(os.path.join(folder, name + ".token")) as file:
                headers = {"Authorization": "Bearer " + file.read().strip()}
            check(gateway.post("/ingest", body, headers, name="shop.cpu")[0] == 200, f"a push of {name}")
        check(gateway.post("/ingest", body, {}, name="shop.cpu")[0] == 401, "a push without a token")
        sessions = [(row[2], row[-1]) for row in gateway.table("sessions")["rows"]]
        check(sorted((target, "client=" + target in labels) for target, labels in sessions) == [("ci", True), ("edge", True)], f"{sessions}")
        check([gateway.total(name) for name in ("ci", "edge")] == [5, 5], "each client's request is stored once")
        check_quota(gateway)
    finally:
        gateway.process.terminate()
        gateway.process.wait()


def check_quota(gateway):
    """What is used up of a quota stays so when processes are killed."""
    with open(os.path.join(gateway.folder, "small.token")) as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}

    def push():
        status, answer, _ = gateway.post("/ingest", b"main;work 5\n" * 50, headers, name="shop.cpu")
        return status, int(answer.get("Retry-After", 0))

    check([push(), push()] == [(200, 0), (200, 0)], "below a quota")
    check(push()[0] == 429, "above a quota")
    for is_gateway in (False, True):
        kill_process(gateway, is_gateway)
        gateway.wait_for_queries()
        status, retry_after = push()
        check(status == 429 and 3_000 < retry_after <= 3_600, f"a quota after a kill (gateway: {is_gateway}): {status}, {retry_after}")


def check_kills(gateway):
    """Whatever is killed while requests are stored, each is stored once."""
    expected = 0
    for round_number in range(4):
        message, counts = ebpf_shaped(4_000, 5, names=f"round{round_number}")
        expected += sum(counts.values())
        killer = threading.Timer(0.02 + 0.03 * round_number, kill_process, (gateway, round_number % 2))
        killer.start()
        status, body = gateway.post_until_stored(OTLP, message)
        killer.join()
        gateway.wait_for_queries()
        check(status == 200, f"round {round_number}: {status} {body}")
        status, body = gateway.post_until_stored(OTLP, message)
        check(status == 200, f"round {round_number}, again: {status} {body}")
    names = [f"round{number}" for number in range(4)]
    rows = gateway.rows("otlp-host")
    stored = gateway.total("otlp-host") - 16_000
    check(stored == expected, f"{stored} samples of {expected} after kills of processes")
    check(all(any(symbol.startswith(name) for symbol in rows) for name in names), "all rounds")


def processes(parent, name):
    return [int(pid) for pid in subprocess.run(["pgrep", "-P", str(parent), "-x", name], capture_output=True, text=True).stdout.split()]


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Queries(threading.Thread):
    """Asks over and over; every answer must be whole."""

    def __init__(self, gateway):
        super().__init__()
        self.gateway, self.is_over, self.answers = gateway, threading.Event(), collections.Counter()

    def run(self):
        while not self.is_over.is_set():
            status, _, body = self.gateway.get("/api/v1/query/top", by="comm")
            self.answers[status, bool(body) and "rows" in json.loads(body)] += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()
        check(set(self.answers) == {(200, True)}, f"queries beside pushes: {self.answers}")


class PushProcess:
    """The process that reads pushes; queries are answered by its parent, which must stay the same one."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.parent = next(iter(processes(gateway.process.pid, "perfleet-query")))

    def pids(self):
        return processes(self.parent, "perfleet-push")

    def signal(self, number):
        for pid in self.pids():
            os.kill(pid, number)

    def push_while(self, body, act, **parameters):
        """Pushes, acts after a while, and returns (status, headers)."""
        reply = []
        pushing = threading.Thread(target=lambda: reply.append(self.gateway.post("/ingest", body, {}, **parameters)[:2]))
        pushing.start()
        time.sleep(1)
        act()
        pushing.join()
        return reply[0]

    def check_same_parent(self):
        check(processes(self.gateway.process.pid, "perfleet-query") == [self.parent], "the query process has ended")


def check_push_process(gateway):
    """Whenever the process that reads pushes is killed, its clients send again, each push is stored once, and queries go on."""
    process = PushProcess(gateway)
    body = b"main;work 5\nmain;idle 2\n"

    def push(target):
        return gateway.post_until_stored("/ingest", body, headers={}, name=f"shop.cpu{{hostname={target}}}")[0]

    def kill_after(target, stop, go_on):
        """The push that is at this step gets 503; sent again it is stored."""
        stop()
        status, headers = process.push_while(body, lambda: process.signal(signal.SIGKILL), name=f"shop.cpu{{hostname={target}}}")
        check(status == 503 and int(headers["Retry-After"]) > 0, f"killed {target}: {status}")
        go_on()
        check((push(target), push(target)) == (200, 200) and gateway.total(target) == 7, f"{target}: stored once, {gateway.total(target)}")

    with Queries(gateway):
        check(push("before") == 200 and len(process.pids()) == 1, "there is one process")
        process.signal(signal.SIGKILL)
        check(push("idle") == 200 and gateway.total("idle") == 7, "it is started again")
        kill_after("unread", lambda: process.signal(signal.SIGSTOP), lambda: None)
        # Read, and waiting for the process that stores.
        kill_after("unacknowledged", lambda: gateway.process.send_signal(signal.SIGSTOP), lambda: gateway.process.send_signal(signal.SIGCONT))
        expected = gateway.total("otlp-host")
        for number, delay in enumerate((0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4)):
            message, counts = ebpf_shaped(4_000, 5, names=f"step{number}")
            expected += sum(counts.values())
            killer = threading.Timer(delay, process.signal, (signal.SIGKILL,))
            killer.start()
            for _ in range(2):
                status, reply = gateway.post_until_stored(OTLP, message)
                check(status == 200, f"killed after {delay} s: {status} {reply}")
            killer.join()
    check(gateway.total("otlp-host") == expected, f"{gateway.total('otlp-host')} samples of {expected}")
    process.check_same_parent()


def check_memory(bin_dir, folder):
    """A push that needs more than the memory for pushes is refused; neither queries nor other pushes notice."""
    gateway = Pushed(bin_dir, folder)
    gateway.data = os.path.join(folder, "of-memory")
    gateway.start("--http-push-memory", "300m")
    try:
        process = PushProcess(gateway)

        def small(target):
            return gateway.post_until_stored("/ingest", b"main;work 5\n", headers={}, name=f"shop.cpu{{hostname={target}}}")[0]

        large = b"".join(b"main;f%d;g%d;h%d 1\n" % (i, i, i) for i in range(900_000))
        check(small("before") == 200, "a small push")
        with Queries(gateway):
            # The first time another push might have left too little.
            status, reply = gateway.post_until_stored("/ingest", large, headers={}, name="shop.cpu{hostname=large}")
            check(status == 413 and b"--http-push-memory" in reply, f"a push without enough memory: {status} {reply}")
            check(small("after") == 200 and gateway.total("after") == 5, "a push after one without enough memory")
            # Each fits, but not all at once.
            stacks = [b"".join(b"main;f%d;g%d_%d;h%d_%d 1\n" % (i, n, i, n, i) for i in range(120_000)) for n in range(4)]
            replies = []
            clients = [threading.Thread(target=lambda body=body: replies.append(gateway.post_until_stored(
                "/ingest", body, headers={}, name="shop.cpu{hostname=together}"))) for body in stacks]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            check([status for status, _ in replies] == [200] * 4, f"pushes that need too much together: {replies}")
        stored = gateway.table("series", select='{target="together"}', event="samples")["rows"]
        check(sum(row[-2] for row in stored) == 480_000, f"stored once: {stored}")
        process.check_same_parent()
        check("large" not in {row[2] for row in gateway.table("sessions")["rows"]}, "nothing of it is stored")
        # Without its parent it ends, too.
        check(small("again") == 200, "another small push")
        pids = process.pids()
        os.kill(process.parent, signal.SIGKILL)
        gateway.wait_for_queries()
        check(len(pids) == 1 and not runs(pids[0]), "it ends with its parent")
    finally:
        gateway.stop()


def kill_process(gateway, is_gateway):
    if is_gateway:
        gateway.process.kill()
        gateway.process.wait()
        gateway.start(*gateway.options, http=gateway.http.removeprefix("http://"))
        return
    for pid in processes(gateway.process.pid, "perfleet-query"):
        os.kill(pid, signal.SIGKILL)


def main():
    with tempfile.TemporaryDirectory(prefix="perfleet-push-") as folder:
        gateway = Pushed(sys.argv[1], folder)
        gateway.start()
        try:
            message = check_twins(gateway)
            check_json(gateway)
            check_layouts(gateway)
            check_addresses(gateway)
            check_pyroscope(gateway)
            check_errors(gateway, message)
            counts = dict(line.split() for line in gateway.get("/metrics")[2].decode().splitlines() if not line.startswith("#"))
            check(all(int(counts[f"perfleet_http_{name}_total"]) > 0 for name in
                      ("pushes", "pushes_refused", "pushed_rows", "pushed_profiles_rejected")), f"metrics: {counts}")
            check_kills(gateway)
            check_push_process(gateway)
        finally:
            gateway.process.terminate()
            gateway.process.wait()
        check_clients(sys.argv[1], folder)
        check_memory(sys.argv[1], folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
