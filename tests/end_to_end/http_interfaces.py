#!/usr/bin/env python3
"""HTTP of a gateway: each answer is the command line's, and Grafana's calls add up to it.

http_interfaces.py BIN_DIR: a real gateway with a recording of this machine and two imported profiles with labels, asked
as Grafana's data source (protobuf), Profiles Drilldown (JSON), scripts and `go tool pprof` ask. Exit status 1 when an
answer differs.
"""
import base64
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from protobuf_text import field, fields, packed, varint

QUERIER = "querier.v1.QuerierService"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
HERE = '{target="here"}'
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"

# As clients describe the messages; protoc decodes what the gateway sends.
PROTO = """
syntax = "proto3";
message LabelPair { string name = 1; string value = 2; }
message Labels { repeated LabelPair labels = 1; }
message ProfileType { string ID = 1; string name = 2; string sample_type = 4; string sample_unit = 5;
  string period_type = 6; string period_unit = 7; }
message ProfileTypes { repeated ProfileType profile_types = 1; }
message Names { repeated string names = 1; }
message Series { repeated Labels labels_set = 2; }
message Point { double value = 1; int64 timestamp = 2; }
message TimeSeries { repeated LabelPair labels = 1; repeated Point points = 2; }
message SelectSeries { repeated TimeSeries series = 1; }
message Level { repeated int64 values = 1; }
message FlameGraph { repeated string names = 1; repeated Level levels = 2; int64 total = 3; int64 max_self = 4; }
message Stacktraces { FlameGraph flamegraph = 1; }
"""

failures = []


def check(is_right, what):
    if not is_right:
        failures.append(what)
        print("FAILED:", what, flush=True)


def pprof(samples, period_ns=10_000_000):
    """A CPU profile: {(outermost, …, innermost): count}."""
    texts = ["", "samples", "count", "cpu", "nanoseconds"]
    functions = sorted({name for chain in samples for name in chain})
    texts += functions
    number = {name: i + 1 for i, name in enumerate(functions)}
    message = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
    for chain, count in samples.items():
        message += field(2, field(1, b"".join(varint(number[name]) for name in reversed(chain))) +
                         field(2, varint(count) + varint(count * period_ns)))
    for name in functions:
        message += field(4, field(1, number[name]) + field(4, field(1, number[name])))
        message += field(5, field(1, number[name]) + field(2, 4 + number[name]))
    message += b"".join(field(6, text.encode()) for text in texts)
    message += field(9, time.time_ns() - 5_000_000_000) + field(10, 1_000_000_000)
    return gzip.compress(message + field(11, field(1, 3) + field(2, 4)) + field(12, period_ns))


class Gateway:
    def __init__(self, bin_dir, folder):
        self.bin, self.folder = os.path.abspath(bin_dir), folder
        self.data = os.path.join(folder, "data")

    def perfleet(self, *words, **options):
        done = subprocess.run([os.path.join(self.bin, "perfleet"), *words], capture_output=True, **options)
        if done.returncode != 0:
            raise SystemExit(f"{words}: {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def start(self, *options, http="127.0.0.1:*", log=None):
        self.options = options
        self.process = subprocess.Popen(
            [os.path.join(self.bin, "perfleet-gateway"), "--data", self.data, "--listen", "tcp://127.0.0.1:*",
             "--query", "tcp://127.0.0.1:*", "--http", http, "--http-import", *options], stdout=subprocess.PIPE, stderr=log, text=True)
        ready = self.process.stdout.readline()
        self.query = re.search(r" query=(\S+)", ready).group(1)
        self.http = "http://" + re.search(r" http=(\S+)", ready).group(1)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def ask(self, command, **options):
        """The answer of the command line by the same gateway."""
        words = [part for name, value in options.items() for part in (f"--{name}", value) if part != ""]
        return self.perfleet(*command.split(), "--gateway", self.query, "--format", "json", *words)

    def get(self, path, headers={}, method="GET", body=None, **parameters):
        """(status, headers, body)"""
        url = self.http + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def call(self, method, request, service=QUERIER):
        """A call in JSON, as Profiles Drilldown makes it: (status, message)."""
        status, _, body = self.get(f"/{service}/{method}", {"Content-Type": "application/json"}, "POST",
                                   json.dumps(request).encode())
        return status, json.loads(body)

    def call_protobuf(self, method, request, response):
        """A call in protobuf, packed both ways: protoc's text of the answer."""
        status, headers, body = self.get(
            f"/{QUERIER}/{method}", {"Content-Type": "application/proto", "Accept-Encoding": "gzip", "Content-Encoding": "gzip",
                                     "Connect-Protocol-Version": "1"}, "POST", gzip.compress(request))
        check(status == 200 and headers["Content-Type"] == "application/proto", f"{method}: {status} {body[:200]}")
        if headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        proto = os.path.join(self.folder, "messages.proto")
        with open(proto, "w") as file:
            file.write(PROTO)
        return subprocess.run(["protoc", "--decode", response, "-I", self.folder, proto], input=body, check=True,
                              capture_output=True).stdout.decode()


def check_queries(gateway):
    for command, options in (("top", {}), ("top", {"by": "comm", "no-children": ""}), ("tree", {"min-percent": "2"}),
                             ("top", {"select": '{region=~"e."}', "measure": "samples"}), ("series", {"by": "comm,target", "step": "0.25"}),
                             ("sessions", {}), ("targets", {}), ("labels", {}), ("events", {}), ("losses", {}),
                             ("top", {"comm": "work*", "limit": "3"}), ("symbols", {}), ("counters", {})):
        expected = gateway.ask(command, **options)
        status, headers, body = gateway.get(f"/api/v1/query/{command}", **options)
        check((status, body) == (200, expected), f"{command} {options}: {status} differs from the command line")
        check(headers["Content-Type"] == "application/json", f"{command}: {headers['Content-Type']}")
    _, headers, body = gateway.get("/api/v1/query/losses", {"Accept-Encoding": "gzip"})
    check(headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == gateway.ask("losses"), "gzip of a reply")
    status, headers, body = gateway.get("/api/v1/query/top", method="HEAD")
    check(status == 200 and body == b"", "HEAD")


def check_exports(gateway):
    for to in ("folded", "pprof", "perf.data", "speedscope", "firefox", "perfetto"):
        path = os.path.join(gateway.folder, "file." + to)
        gateway.perfleet("export", "--gateway", gateway.query, "--select", HERE, "--to", to, "-o", path)
        with open(path, "rb") as file:
            expected = file.read()
        status, headers, body = gateway.get("/api/v1/export", to=to, select=HERE)
        check((status, body) == (200, expected), f"export to {to}: {status}, {len(body)} bytes, expected {len(expected)}")
        check(headers["Transfer-Encoding"] == "chunked", f"export to {to} isn't streamed")
    whole = gateway.get("/api/v1/export", to="pprof", select=HERE)[2]
    check(gateway.get("/api/v1/pprof", select=HERE)[2] == whole, "pprof of all")
    status, _, body = gateway.get("/api/v1/pprof", seconds="86400", select=HERE)
    check(status == 200 and gzip.decompress(body)[:64] == gzip.decompress(whole)[:64], "pprof of the last day")
    url = f"{gateway.http}/api/v1/pprof?" + urllib.parse.urlencode({"select": '{service_name="api"}'})
    text = subprocess.run(["go", "tool", "pprof", "-top", "-seconds", "3600", url], capture_output=True, text=True,
                          env={**os.environ, "PPROF_TMPDIR": gateway.folder}).stdout
    check(re.search(r"400ms 66\.67% .* parse$", text, re.MULTILINE), f"go tool pprof: {text}")


def check_errors(gateway):
    for path, parameters, status, text in (
            ("/nothing", {}, 404, "nothing at /nothing"), ("/api/v1/query/nothing", {}, 404, "no command"),
            ("/api/v1/query/top", {"nothing": "1"}, 400, "no parameter nothing"), ("/api/v1/query/top", {"limit": "x"}, 400, "--limit"),
            ("/api/v1/query/top", {"event": "nothing"}, 400, "--event nothing"), ("/api/v1/export", {"to": "x"}, 400, "is none of"),
            ("/api/v1/export", {"to": "folded", "select": "{a"}, 400, "--select"), ("/api/v1/pprof", {"seconds": "0"}, 400, "seconds")):
        reply = gateway.get(path, **parameters)
        check(reply[0] == status and text in reply[2].decode(), f"{path} {parameters}: {reply[0]} {reply[2]}")
    check(gateway.get("/api/v1/query/top", method="POST", body=b"")[0] == 405, "POST of a query")
    check(gateway.get("/healthz", {"Host": "perfleet.example"})[0] == 421, "another host")
    json_type = {"Content-Type": "application/json"}
    check(gateway.get(f"/{QUERIER}/Series", method="GET")[0] == 405, "GET of a call")
    check(gateway.get(f"/{QUERIER}/Series", {"Content-Type": "text/plain"}, "POST", b"{}")[0] == 415, "type of a call")
    check(gateway.get(f"/{QUERIER}/Series", {**json_type, "Connect-Protocol-Version": "2"}, "POST", b"{}")[0] == 400,
          "version of Connect")
    for method, request, status, code in (
            ("Nothing", {}, 501, "unimplemented"), ("Series", {}, 400, "invalid_argument"),
            ("ProfileTypes", {"start": 2, "end": 1}, 400, "invalid_argument"),
            ("SelectMergeStacktraces", {"profile_typeID": "cpu", "start": 1, "end": 2}, 400, "invalid_argument"),
            ("SelectMergeStacktraces", {"profile_typeID": CPU, "label_selector": "{", "start": 1, "end": 2}, 400, "invalid_argument"),
            ("SelectMergeStacktraces", {"profile_typeID": CPU, "max_nodes": -1, "start": 1, "end": 2}, 400, "invalid_argument"),
            ("SelectSeries", {"profile_typeID": CPU, "start": 1, "end": 2, "step": 0}, 400, "invalid_argument"),
            ("SelectSeries", {"profile_typeID": CPU, "start": 0, "end": 9 * 10**12, "step": 10**7, "groupBy": ["a,b"]}, 400,
             "invalid_argument"),
            ("Series", {"start": 0, "end": 9 * 10**12, "labelNames": [""]}, 400, "invalid_argument"),
            ("LabelNames", {"start": 1, "end": 2, "matchers": ["{}"] * 65}, 400, "invalid_argument")):
        got = gateway.call(method, request)
        check(got[0] == status and got[1]["code"] == code and got[1]["message"], f"{method} {request}: {got}")


def of_tree(data):
    """The self of each call of Pyroscope's tree."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            at, shift, value = at + 1, shift + 7, value | (data[at] & 127) << shift
            if data[at - 1] < 128:
                return value
    expected = 1 if data else 0
    while expected:
        size = varint()
        at += size
        yield varint()
        expected += varint() - 1
    check(at == len(data), f"{len(data) - at} bytes behind a tree")


def check_odd_requests(gateway, span):
    """What no client means to send: each is answered, and the next request is, too."""
    json_type = {"Content-Type": "application/json"}
    call = f"/{QUERIER}/SelectMergeStacktraces"
    for start, end in ((0, 1), (1000, 4000), (0, span["end"]), (span["end"], span["end"] + 10**9), (-5, 5), (5, 5), (2**63 - 1, 2**63 - 1), ("x", "y")):
        status, reply = gateway.call("SelectMergeStacktraces", {"profileTypeID": CPU, "start": start, "end": end})
        is_range = isinstance(start, int) and 0 <= start < end
        check(status == (200 if is_range else 400), f"from {start} to {end}: {status} {str(reply)[:200]}")
        check(not is_range or reply["flamegraph"]["levels"], f"no root from {start} to {end}")
    for nodes, status in ((1, 200), ("5", 200), (1 << 20, 200), ((1 << 20) + 1, 400), (2**63 - 1, 400), (1.5, 400), ("x", 400)):
        for form in ("FLAMEGRAPH", "TREE", "DOT"):
            got = gateway.call("SelectMergeStacktraces", {"profileTypeID": CPU, "maxNodes": nodes, "format": "PROFILE_FORMAT_" + form, **span})
            check(got[0] == status, f"{nodes} nodes as {form}: {got[0]} {str(got[1])[:200]}")
    for body, encoding, status in ((b"", "", 400), (b"[]", "", 400), (b'{"start":[1]}', "", 400), (b'{"a":' * 3000 + b"1" + b"}" * 3000, "", 400),
                                   (gzip.compress(b"{}")[:-3], "gzip", 400), (gzip.compress(bytes(1 << 26)), "gzip", 429), (b"{}", "br", 501)):
        got = gateway.get(call, {**json_type, "Content-Encoding": encoding or "identity"}, "POST", body)
        check(got[0] == status and json.loads(got[2])["code"], f"{body[:40]} {encoding}: {got[0]} {got[2][:200]}")
    body = json.dumps({"profileTypeID": CPU, **span})
    whole = f"POST {call} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    host, port = gateway.http[len("http://"):].split(":")
    for sent, statuses in ((whole * 3 + last, [200] * 4), (whole.replace(b"Content-Length", b"Content-Length: 1\r\nContent-Length"), [400]),
                           (whole.replace(b"Content-Length: ", b"Content-Length: -"), [400]), (whole[:-5], [])):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(sent)
            text = b""
            while statuses and (piece := connection.recv(65536)):
                text += piece
        got = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", text)]
        check(got == statuses, f"{sent[:80]}…: {got}")


def bars_of(graph):
    """(names of the callers and its own, total) of each bar below the root."""
    above = [(0, int(graph["total"]), ())]
    for level in graph["levels"][1:]:
        values, end, bars = [int(value) for value in level["values"]], 0, []
        for distance, total, _, name in zip(*[iter(values)] * 4):
            start, end = end + distance, end + distance + total
            path = next(one[2] for one in above if one[0] <= start and end <= one[1])
            bars.append((start, end, (*path, graph["names"][name])))
            yield bars[-1][2], total
        above = bars


def check_call_sites(gateway, span):
    """Series of a call site, whole and in groups, add up to the flame graph's bar."""
    request = {"profile_typeID": CPU, "label_selector": "{}", **span}
    graph = gateway.call("SelectMergeStacktraces", request)[1]["flamegraph"]
    sites = [(path, total) for path, total in bars_of(graph) if len(path) <= 5 and "other" not in path]
    check(len(sites) > 10 and (("main", "serve"), 40 * 10**7) in sites, f"call sites {sites[:20]}")
    for site, total in sites[:8] + sites[-8:]:
        selector = {"callSite": [{"name": name} for name in site]}
        for groups in ([], ["service_name"], ["service_name", "region"]):
            status, reply = gateway.call("SelectSeries", {**request, "stackTraceSelector": selector, "step": 15, "groupBy": groups})
            amounts = {tuple(pair["value"] for pair in one.get("labels", [])): sum(point["value"] for point in one["points"])
                       for one in reply.get("series", [])}
            check(status == 200 and sum(amounts.values()) == total, f"{site} by {groups}: {status} {amounts}, expected {total}")
        if site == ("main",):
            check(amounts == {("api", "eu"): 60 * 10**7, ("db", "us"): 5 * 10**7}, f"groups of {site}: {amounts}")


def check_profiles_of_call_sites(gateway, span):
    """The profile of a call site has the chains through it, and the total of the flame graph's bar."""
    for service in ("api", "gzip"):
        request = {"profile_typeID": CPU, "label_selector": f'{{service_name="{service}"}}', **span}
        graph = gateway.call("SelectMergeStacktraces", request)[1]["flamegraph"]
        sites = [(path, total) for path, total in bars_of(graph) if len(path) <= 4]
        for site, total in sites[:4] + sites[-2:]:
            selector = {"callSite": [{"name": name} for name in site]}
            status, profile = gateway.call("SelectMergeProfile", {**request, "stackTraceSelector": selector})
            if status != 200:
                check(False, f"profile of {site}: {status} {profile}")
                continue
            texts = profile["stringTable"]

            def text(number):
                return texts[int(number)]

            amount = next(i for i, kind in enumerate(profile["sampleType"]) if text(kind["unit"]) == "nanoseconds")
            names = {one["id"]: text(one["name"]) for one in profile["function"]}
            calls = {one["id"]: [names[line["functionId"]] for line in reversed(one.get("line", []))] or ["?"] for one in profile["location"]}
            chains = {tuple([text(label["str"]) for label in sample.get("label", []) if label.get("str", "0") != "0"] +
                            [name for location in reversed(sample["locationId"]) for name in calls[location]]) for sample in profile["sample"]}
            check(sum(int(sample["value"][amount]) for sample in profile["sample"]) == total, f"total of {site}: {total}, {profile['sample']}")
            check(all(all(call in ("?", name) for call, name in zip(chain, site, strict=False)) and len(chain) >= len(site)
                      for chain in chains), f"chains of {site}: {chains}")
    nowhere = {**request, "stackTraceSelector": {"callSite": [{"name": "nowhere"}]}}
    check(not gateway.call("SelectMergeProfile", nowhere)[1].get("sample"), "a call site without samples")


def check_dot(gateway, span):
    """As Drilldown's assistant and mcp-grafana read it."""
    query = CPU + '{service_name="api"}'
    status, headers, body = gateway.get("/pyroscope/render", query=query, **{"from": str(span["start"])}, until=str(span["end"]),
                                        format="dot", **{"max-nodes": "100"})
    text = body.decode()
    check(status == 200 and headers["Content-Type"].startswith("text/plain"), f"dot: {status} {headers['Content-Type']}")
    check("Showing nodes accounting for 600ms, 100% of 600ms total" in text, f"dot: {text}")
    nodes = {name: number for number, name in re.findall(r'^N(\d+) \[label="(\S+?)\\n', text, re.MULTILINE)}
    check(set(nodes) == {"main", "serve", "parse", "idle"} and f'N{nodes["main"]} -> N{nodes["serve"]} [label=" 400ms"' in text, f"dot: {text}")
    request = {"profile_typeID": CPU, "label_selector": '{service_name="api"}', "format": "PROFILE_FORMAT_DOT", **span}
    check(gateway.call("SelectMergeStacktraces", request) == (200, {"dot": text}), "dot of a call")
    few = gateway.call("SelectMergeStacktraces", {**request, "maxNodes": 2})[1]["dot"]
    check("Showing top 2 nodes out of 4" in few and few.count("\nN") == 3, f"dot of few nodes: {few}")
    empty = gateway.get("/pyroscope/render", query=CPU + '{service_name="nobody"}', **{"from": "now-1h"}, until="now", format="dot")
    check(empty[0] == 200 and b"accounting for 0, 0% of 0 total" in empty[2], f"dot of nothing: {empty}")
    check(gateway.get("/pyroscope/render", query=query, **{"from": "now-1h"}, until="now", format="svg")[0] == 501, "another format")


def check_grafana(gateway, services):
    end = int(time.time() * 1000) + 1000
    span = {"start": end - 3_600_000, "end": end}
    # "Save & test" asks for 1970.
    check(gateway.call("ProfileTypes", {"start": 1000, "end": 4000}) == (200, {"profileTypes": []}), "Save & test")
    check(gateway.call("GetFeatureFlags", {}, "capabilities.v1.FeatureFlagsService")[0] == 200, "feature flags")
    types = [one["ID"] for one in gateway.call("ProfileTypes", span)[1]["profileTypes"]]
    check(CPU in types and SAMPLES in types, f"profile types {types}")
    names = gateway.call("LabelNames", span)[1]["names"]
    check({"service_name", "__profile_type__", "region", "target", "arch"} <= set(names), f"labels {names}")
    check(gateway.call("LabelValues", {"name": "region", **span})[1]["names"] == ["eu", "us"], "values of region")
    found = set(gateway.call("LabelValues", {"name": "service_name", **span})[1]["names"])
    check(services <= found, f"services {found}, expected {services}")
    series = gateway.call("Series", {"label_names": ["service_name", "__profile_type__"], "matchers": ["{}"], **span})[1]["labelsSet"]
    pairs = {tuple(sorted((pair["name"], pair["value"]) for pair in labels["labels"])) for labels in series}
    check((("__profile_type__", CPU), ("service_name", "api")) in pairs, f"series {pairs}")

    def top(*options):
        return json.loads(gateway.perfleet("top", "--gateway", gateway.query, "--format", "json", *options))["measure"]["total"]

    clock, gzip_part = top("--event", "cpu-clock"), top("--event", "cpu-clock", "--comm", "gzip")
    selections = (
        ("{}", CPU, clock + 65 * 10**7), ("{}", SAMPLES, top("--event", "cpu-clock", "--measure", "samples") + 65),
        ('{target="a"}', CPU, 60 * 10**7), ('{target="here"}', CPU, clock), ('{service_name="nobody"}', CPU, 0),
        ('{service_name="shares_workload"}', CPU, top("--event", "cpu-clock", "--comm", "shares_workload")),
        ('{service_name=~"shares.*|gzip"}', CPU, top("--event", "cpu-clock", "--comm", "shares_workload,gzip")),
        ('{service_name!="gzip"}', CPU, clock + 65 * 10**7 - gzip_part), ('{region=""}', CPU, clock), ('{region="eu"}', CPU, 60 * 10**7),
        ("{region='eu',service_name=~`a.i`}", CPU, 60 * 10**7), ('{nothing=~"(a|b)*c"}', CPU, 0),
        ('{service_name="api"}', CPU, 60 * 10**7), ('{service_name="db",region=~".."}', SAMPLES, 5))
    for selector, kind, expected in selections:
        status, message = gateway.call("SelectMergeStacktraces", {"profile_typeID": kind, "label_selector": selector, **span})
        graph = message.get("flamegraph", {})
        check(status == 200 and int(graph.get("total", -1)) == expected, f"{kind} {selector}: {status} {str(message)[:300]}, expected {expected}")
        check(status == 200 and [int(n) for n in graph["levels"][0]["values"]] == [0, expected, 0, 0], f"{selector}: no root")
        message = gateway.call("SelectMergeStacktraces", {"profile_typeID": kind, "label_selector": selector,
                                                          "format": "PROFILE_FORMAT_TREE", **span})[1]
        in_tree = sum(of_tree(base64.b64decode(message.get("tree", ""))))
        check(in_tree == expected, f"{kind} {selector} as a tree: {in_tree}, expected {expected}")
        request = field(1, kind.encode()) + field(2, selector.encode()) + field(3, span["start"]) + field(4, span["end"])
        text = gateway.call_protobuf("SelectMergeStacktraces", request, "Stacktraces")
        total = re.search(r"\n  total: (\d+)", text)
        check(int(total.group(1)) == expected if total else expected == 0, f"{kind} {selector} in protobuf: {text[:300]}")
        if expected:
            status, message = gateway.call("SelectSeries", {"profile_typeID": kind, "label_selector": selector, "step": 1, **span})
            points = [point for one in message["series"] for point in one["points"]]
            check(sum(point["value"] for point in points) == expected, f"series of {selector}: {message}, expected {expected}")
            _, heat = gateway.call("SelectHeatmap", {"profile_typeID": kind, "label_selector": selector, "step": 60, **span})
            check(heat["series"] and all(len(slot["counts"]) == 20 for slot in heat["series"][0]["slots"]), f"heat map {heat}")
    graph = gateway.call("SelectMergeStacktraces", {"profile_typeID": CPU,
                                                    "label_selector": '{service_name="api"}', **span})[1]["flamegraph"]
    check({"total", "main", "serve", "parse", "idle"} <= set(graph["names"]), f"names {graph['names']}")
    # Samples that pass through a call site have the same count in its points and in the graph.
    site = {"callSite": [{"name": "main"}, {"name": "serve"}]}
    below = gateway.call("SelectMergeStacktraces", {"profile_typeID": CPU, "label_selector": '{service_name="api"}',
                                                    "stackTraceSelector": site, **span})[1]["flamegraph"]
    request = {"profile_typeID": CPU, "label_selector": '{service_name="api"}', "stackTraceSelector": site, **span}
    points = gateway.call("SelectSeries", {**request, "step": 60})[1]["series"][0]["points"]
    check(int(below["total"]) > 0 and sum(point["value"] for point in points) == int(below["total"]),
          f"points of a call site {points}, graph {below['total']}")
    check(gateway.call("SelectSeries", {**request, "step": 0.1})[0] == 400, "too many points of a call site")
    check_call_sites(gateway, span)
    check_profiles_of_call_sites(gateway, span)
    check_dot(gateway, span)
    check_odd_requests(gateway, span)
    groups = gateway.call("SelectSeries", {"profile_typeID": CPU, "groupBy": ["service_name", "region"],
                                           "step": 3600, "label_selector": "{}", **span})[1]["series"]
    values = {tuple(pair["value"] for pair in one["labels"]): sum(point["value"] for point in one["points"]) for one in groups}
    check(values.get(("api", "eu")) == 60 * 10**7 and values.get(("db", "us")) == 5 * 10**7 and values.get(("gzip", "")) == gzip_part,
          f"groups {values}")
    diff = gateway.call("Diff", {side: {"profile_typeID": CPU, "label_selector": selector, **span}
                                 for side, selector in (("left", '{service_name="api"}'), ("right", '{service_name="db"}'))})[1]["flamegraph"]
    check((int(diff["leftTicks"]), int(diff["rightTicks"])) == (60 * 10**7, 5 * 10**7), f"diff {diff}")
    check(all(len(level["values"]) % 7 == 0 for level in diff["levels"]), "bars of a diff")
    query = CPU + '{service_name="api"}'
    rendered = json.loads(gateway.get("/pyroscope/render", query=query, **{"from": "now-1h"}, until=str(end))[2])
    check(rendered["flamebearer"]["numTicks"] == 60 * 10**7 and sum(rendered["timeline"]["samples"]) == 60 * 10**7, f"render {rendered}")
    status, _, body = gateway.get(f"/{QUERIER}/SelectMergeProfile", {"Content-Type": "application/proto"}, "POST",
                                  field(1, CPU.encode()) + field(2, b'{service_name="api"}') +
                                  field(3, span["start"]) + field(4, span["end"]))
    check(status == 200, f"merged profile: {status} {body[:300]}")
    values = [packed(value) for number, sample in fields(body) if number == 2 for key, value in fields(sample) if key == 2]
    check([sum(column) for column in zip(*values)][-1] == 60 * 10**7, f"merged profile: {values}")
    text = gateway.call_protobuf("ProfileTypes", field(1, span["start"]) + field(2, span["end"]), "ProfileTypes")
    check(f'ID: "{CPU}"' in text, text)


def check_import(gateway):
    """A posted profile is stored once, and is what `perfleet import` would have made of it."""
    profile = pprof({("main", "posted"): 7, ("main", "other"): 3})
    headers = {"Content-Type": "application/octet-stream"}
    query = "?" + urllib.parse.urlencode([("target", "c"), ("label", "service_name=web"), ("label", "zone=z=1")])

    def post(body, query=query, headers=headers):
        return gateway.get("/api/v1/import" + query, headers, "POST", body)

    def answer(body):
        status, _, text = post(body)
        check(status == 200, f"import: {status} {text}")
        rows = json.loads(text)["rows"]
        return rows[0] if rows else None

    first, again = answer(profile), answer(profile)
    check(first[1:] == ["c", 5, "no"] and again[0] == first[0] and again[3] == "yes", f"import: {first}, {again}")
    check(answer(gzip.decompress(profile))[0] == first[0], "the same profile unpacked")
    top = json.loads(gateway.ask("top", select='{service_name="web",zone="z=1"}', event="cpu"))
    check(top["measure"]["total"] == 10 * 10**7 and top["rows"][0][0] == "posted", f"a posted profile: {top}")
    broken = post(gzip.decompress(profile)[:-9])
    check(b"the body: no profile of pprof" in broken[2], f"a broken profile: {broken}")
    for name, reply, status in (("no target", post(profile, ""), 400), ("a wrong label", post(profile, "?target=c&label=x"), 400),
                                ("another parameter", post(profile, "?target=c&x=1"), 400), ("nothing", post(b""), 400),
                                ("garbage", post(b"garbage" * 1000), 400), ("cut", post(profile[:-9]), 400), ("broken", broken, 400),
                                ("a bomb", post(gzip.compress(bytes(200 << 20))), 429), ("a form", post(profile, headers={"Content-Type": "text/plain"}), 415),
                                ("GET", gateway.get("/api/v1/import"), 405)):
        check(reply[0] == status, f"import of {name}: {reply[0]} {reply[2][:200]}, expected {status}")
    for path, size, status in (("/api/v1/import" + query, 65 << 20, b"413"), ("/api/v1/query/top", 2 << 20, b"413")):
        host, port = gateway.http[len("http://"):].split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n\r\n".encode())
            check(connection.recv(100).split()[1] == status, f"a body of {size} to {path}")


def check_restart(gateway):
    """The query process is killed; another one answers at the same place."""
    with open(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children") as file:
        children = file.read().split()
    for task in os.listdir(f"/proc/{gateway.process.pid}/task"):
        with open(f"/proc/{gateway.process.pid}/task/{task}/children") as file:
            children += file.read().split()
    queries = [pid for pid in set(children) if "perfleet-query" in os.readlink(f"/proc/{pid}/exe")]
    check(len(queries) == 1, f"query processes {queries}")
    os.kill(int(queries[0]), signal.SIGKILL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if gateway.get("/readyz")[0] == 200 and not os.path.exists(f"/proc/{queries[0]}"):
                break
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.1)
    check(gateway.get("/api/v1/query/targets")[2] == gateway.ask("targets"), "after a restart")
    check(b"perfleet_http_requests_total" in gateway.get("/metrics")[2], "metrics")


def main():
    bin_dir = sys.argv[1]
    workloads = os.path.join(os.path.dirname(bin_dir), "test-bin")
    with tempfile.TemporaryDirectory(prefix="perfleet-http-") as folder:
        gateway = Gateway(bin_dir, folder)
        busy = f"'{workloads}/shares_workload' 0.3; dd if=/dev/urandom bs=1M count=24 2>&- | gzip -9 > /dev/null"
        gateway.perfleet("record", "-q", "--data", gateway.data, "--target", "here", "-e", "cpu-clock", "-F", "499", "-g", "--", "sh", "-c", busy)
        for name, labels, samples in (
                ("a", ("service_name=api", "region=eu"), {("main", "serve", "parse"): 40, ("main", "idle"): 20}),
                ("b", ("service_name=db", "region=us"), {("main", "scan"): 5})):
            path = os.path.join(folder, name + ".pb.gz")
            with open(path, "wb") as file:
                file.write(pprof(samples))
            gateway.perfleet("import", "--data", gateway.data, "--target", name, *[word for label in labels for word in ("--label", label)], path)
        gateway.start()
        try:
            check(gateway.get("/healthz")[2] == b"ok\n", "healthz")
            check_queries(gateway)
            check_exports(gateway)
            check_errors(gateway)
            check_grafana(gateway, {"api", "db", "shares_workload", "gzip"})
            check_import(gateway)
            check_restart(gateway)
        finally:
            gateway.stop()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
