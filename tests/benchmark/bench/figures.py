"""The figures of tools/bench: the definition and the goal of each, and how it is measured.

A figure has pairs of one run of perfleet and one of a peer, in turns, or values of perfleet alone. A group of figures is measured
together; it gets a Bench and returns {name of a figure: {"ours": [...], "peer": [...]}}.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass

import cost
from loads import LOADS, Load, prepare


@dataclass
class Figure:
    what: str
    goal: float
    unit: str = "×"  # of a ratio to the peer; else of a value
    peer: str = ""   # empty: a value
    digits: int = 2
    is_least: bool = False  # the goal is a least value, not a most


PERF_RECORD = "`perf record -z -a -g`"
FIGURES = {}
for _load in LOADS:
    FIGURES |= {
        f"cpu.{_load}.frame-pointers": Figure(f"`{_load}`: collector, frame pointers, symbols known", 1.5 if _load == "short" else 1.0,
                                              peer=PERF_RECORD),
        f"cpu.{_load}.bpf": Figure(f"`{_load}`: collector, unwinding by BPF and the BPF programs' time, symbols known",
                                   3.0 if _load == "short" else 1.5, peer=PERF_RECORD),
        f"symbols.{_load}": Figure(f"`{_load}`: more in the first recording, whose builds nobody has seen", 1.0, "s"),
        f"kept.{_load}": Figure(f"`{_load}`: a sample with all that belongs to it but symbols",
                                {"mixed": 7, "short": 12, "interpreters": 13}[_load], "B", digits=1),
        f"xz.{_load}": Figure(f"`{_load}`: the same", 1.0, peer="`xz -9` of a perf.data with the same samples"),
        f"wire.{_load}": Figure(f"`{_load}`: on the wire", 1.2, peer="what is kept of it"),
        f"top.{_load}": Figure(f"`{_load}`: CPU of `perfleet top`", 0.01, peer="`perf report --stdio`", digits=3),
        f"top-memory.{_load}": Figure(f"`{_load}`: memory of `perfleet top`", 150, "MiB", digits=0),
    }
FIGURES |= {
    "start": Figure("CPU of `perfleet record -q -- true`", 1.0, peer="`perf record -q -- true`"),
    "end": Figure("`perfleet-collector --output FILE --duration N`: start and end beyond N (`short`)", 0.3, "s"),
    "end.symbols": Figure("files whose symbols that recording lacks", 0, "files", digits=0),
    "export.perf-data": Figure("CPU of `export --to perf.data`, a sample", 0.4, "µs"),
    "export.perf-data.memory": Figure("its memory", 100, "MiB", digits=0),
    "export.pprof": Figure("CPU of `export --to pprof`, a sample", 0.5, "µs"),
    "export.pprof.memory": Figure("its memory", 150, "MiB", digits=0),
    "export.page": Figure("CPU of a flame graph's page, a sample", 0.75, "µs"),
    "export.page.memory": Figure("its memory", 150, "MiB", digits=0),
    "gateway.large": Figure("gateway: CPU a batch of 16,000 rows", 1.2, peer="bare libzmq and synced RocksDB"),
    "gateway.small": Figure("gateway: CPU a batch of 300 rows", 1.6, peer="bare libzmq and synced RocksDB"),
    "gateway.queries": Figure("99 % of acknowledgements beside one query after the other", 1.2, peer="without queries"),
}


class Bench:
    def __init__(self, folder, binaries, seconds, rounds, log):
        self.folder = folder
        self.binaries = binaries
        self.seconds = seconds
        self.rounds = rounds
        self.log = log
        self.stores = {}  # of the loads, when they were recorded
        os.environ["XDG_CACHE_HOME"] = self.path("cache")
        prepare(self.path("load"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name):
        return os.path.join(self.binaries, name)

    @contextlib.contextmanager
    def gateway(self, store):
        process = subprocess.Popen([self.program("perfleet-gateway"), "--data", store, "--listen", "tcp://127.0.0.1:*", "--query",
                                    "none"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield re.search(r"listen=(\S+)", process.stdout.readline()).group(1)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def in_turns(rounds, runs):
    """{name: [results]}; each round begins with another of them."""
    names = list(runs)
    results = {name: [] for name in names}
    for number in range(rounds):
        for name in names[number % len(names):] + names[:number % len(names)]:
            results[name].append(runs[name]())
    return results


def sizes_of(bench, store):
    """(bytes of keys and values but for symbols, samples)"""
    rows = json.loads(cost.output_of([bench.program("perfleet"), "inspect", "--sizes", "--data", store, "--format", "json"]))["rows"]
    whole = {row[0]: row for row in rows if row[1] is None}
    return (sum(row[3] for name, row in whole.items() if name not in ("(images)", "(table files)", "(logs)")),
            sum(row[2] for name, row in whole.items() if name.startswith("sample ")))


def hosts(bench, load):
    """The collector beside perf on a load, then the recorded rows."""
    found = {}
    store = bench.stores[load] = bench.path(f"store-{load}")
    os.environ["XDG_CACHE_HOME"] = bench.path(f"cache-{load}")  # empty, as on a host that has never recorded

    def collect(endpoint, method):
        ran = cost.run([bench.program("perfleet-collector"), "--gateway", endpoint, "-a", "-e", "cpu-clock", "-F", "999", "--call-graph",
                        method, "--duration", bench.seconds])
        return ran.cpu_s + ran.bpf_s

    def perf():
        return cost.run(["perf", "record", "-q", "-z", "-a", "-g", "-e", "cpu-clock", "-F", "999", "-o", bench.path("perf.data"),
                         "--", "sleep", bench.seconds]).cpu_s

    with Load(load, bench.path("load")), bench.gateway(store) as endpoint:
        first = [collect(endpoint, "fp"), collect(endpoint, "bpf")]
        runs = in_turns(bench.rounds, {"perf": perf, "fp": lambda: collect(endpoint, "fp"), "bpf": lambda: collect(endpoint, "bpf")})
    found[f"cpu.{load}.frame-pointers"] = {"ours": runs["fp"], "peer": runs["perf"]}
    found[f"cpu.{load}.bpf"] = {"ours": runs["bpf"], "peer": runs["perf"]}
    found[f"symbols.{load}"] = {"ours": [max(0.0, first[0] - sum(runs["fp"]) / len(runs["fp"]))]}
    return found | kept(bench, load) | queries(bench, load)


def frames_without_symbols(path):
    """Bytes of a file of frames; the message is the tag of Envelope's union, u16 at byte 18 of a frame."""
    image = 9
    size = 0
    with open(path, "rb") as file:
        file.read(16)
        while header := file.read(4):
            frame = file.read(int.from_bytes(header, "little"))
            size += len(frame) if int.from_bytes(frame[18:20], "little") != image else 0
    return size


def kept(bench, load):
    size, samples = sizes_of(bench, bench.stores[load])
    data = bench.path("perf.data")
    cost.output_of([bench.program("perfleet"), "export", "--to", "perf.data", "-o", data, "--force", "--all", "--data", bench.stores[load]])
    # Not in this process: programs that it starts would begin with its memory as their peak.
    with subprocess.Popen(["xz", "-9", "--stdout", data], stdout=subprocess.PIPE) as xz:
        packed = sum(len(piece) for piece in iter(lambda: xz.stdout.read(1 << 20), b""))
    frames, one = bench.path("frames"), bench.path("one")
    shutil.rmtree(one, ignore_errors=True)
    with Load(load, bench.path("load")):
        cost.run([bench.program("perfleet-collector"), "--output", frames, "--force", "-a", "-e", "cpu-clock", "-F", "999", "--call-graph",
                  "bpf", "--duration", bench.seconds])
    cost.output_of([bench.program("perfleet"), "import", "--format", "frames", "--data", one, frames])
    return {f"kept.{load}": {"ours": [size / samples]}, f"xz.{load}": {"ours": [size], "peer": [packed]},
            f"wire.{load}": {"ours": [frames_without_symbols(frames)], "peer": [sizes_of(bench, one)[0]]}}


def queries(bench, load):
    top = [bench.program("perfleet"), "top", "--all", "--exact", "--data", bench.stores[load]]
    report = ["perf", "report", "--stdio", "-i", bench.path("perf.data")]
    rounds = min(bench.rounds, 3)
    runs = in_turns(rounds, {"top": lambda: cost.run(top), "report": lambda: cost.run(report)})
    return {f"top.{load}": {"ours": [ran.cpu_s for ran in runs["top"]], "peer": [ran.cpu_s for ran in runs["report"]]},
            f"top-memory.{load}": {"ours": [ran.peak_mib for ran in runs["top"]]}}


def start(bench):
    ours = [bench.program("perfleet"), "record", "-q", "--data", bench.path("start"), "--", "true"]
    peer = ["perf", "record", "-q", "-o", bench.path("perf.data"), "--", "true"]
    cost.run(ours)  # the store is made, and has the symbols
    runs = in_turns(bench.rounds, {"ours": lambda: cost.run(ours).cpu_s, "peer": lambda: cost.run(peer).cpu_s})
    return {"start": runs}


def end(bench):
    late, lacking = [], []
    with Load("short", bench.path("load")):
        for _ in range(min(bench.rounds, 3)):
            ran = cost.run([bench.program("perfleet-collector"), "--output", bench.path("frames"), "--force", "-a", "-g", "-e", "cpu-clock",
                            "-F", "999", "--duration", bench.seconds])
            late.append(ran.wall_s - bench.seconds)
            lacks = re.search(r"symbols of (\d+) files? (?:is|are) not kept", ran.text)
            lacking.append(int(lacks.group(1)) if lacks else 0)
    return {"end": {"ours": late}, "end.symbols": {"ours": lacking}}


def exports(bench):
    store = bench.stores.get("mixed")
    if store is None:
        return {}
    _, samples = sizes_of(bench, store)
    found = {}
    perfleet = bench.program("perfleet")
    for name, words in {"perf-data": ["export", "--to", "perf.data", "-o", bench.path("perf.data")],
                        "pprof": ["export", "--to", "pprof", "-o", bench.path("profile.pb.gz")],
                        "page": ["flamegraph", "-o", bench.path("page.html")]}.items():
        runs = [cost.run([perfleet, *words, "--force", "--all", "--data", store]) for _ in range(min(bench.rounds, 3))]
        found[f"export.{name}"] = {"ours": [ran.cpu_s / samples * 1e6 for ran in runs]}
        found[f"export.{name}.memory"] = {"ours": [ran.peak_mib for ran in runs]}
    return found


def gateway(bench):
    found = {}
    program = os.path.join(bench.binaries, "..", "benchmark-bin", "gateway_cost")
    batches = {"large": (60 * bench.seconds, 16000), "small": (250 * bench.seconds, 300)}
    for name, (count, rows) in batches.items():
        text = cost.output_of([program, "--batches", round(count), "--rows", rows, "--rounds", bench.rounds, "--folder", bench.folder,
                               "--bin", bench.binaries])
        pairs = re.findall(r"bare ([\d.]+) us a batch, perfleet ([\d.]+) us", text)
        found[f"gateway.{name}"] = {"ours": [float(pair[1]) for pair in pairs], "peer": [float(pair[0]) for pair in pairs]}
    crowd = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crowd.py")
    query = f"while :; do {bench.program('perfleet')} top --exact --gateway {{query}} > /dev/null 2>&1; done"
    text = cost.output_of([crowd, "--bin", bench.binaries, "--targets", 100, "--connect", 200, "--interval", 1, "--seconds", bench.seconds,
                           "--rounds", min(bench.rounds, 3), "--folder", bench.folder, "--beside", query])
    pairs = re.findall(r"([\d.]+) against ([\d.]+) ms", text.splitlines()[-1])
    found["gateway.queries"] = {"ours": [float(pair[0]) for pair in pairs], "peer": [float(pair[1]) for pair in pairs]}
    return found


GROUPS = {load: (lambda bench, load=load: hosts(bench, load)) for load in LOADS} | {
    "start": start, "end": end, "exports": exports, "gateway": gateway}
