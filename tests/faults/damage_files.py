#!/usr/bin/env python3
"""Damages every file of a store, in many places, and compares the programs' answers with the stored rows.

A store is made by the programs themselves: imports, then a gateway that is killed. For each file of its folder and each
kind of damage (a flipped byte, the end cut off, bytes set to zero, another file in its place, or what is no file: a
folder, a pipe, a link to nowhere) these run on a copy: `inspect --verify`, `losses`, `top`, a gateway that starts and
stops, and all once more. All rows are there, with the names that they had, or what isn't is named: by the ledger, a
warning, or an exit status. No program may crash, or wait forever.

  damage_files.py --bin build/release/bin --places 50 --seed 7      50 places a file and kind
  damage_files.py --bin build/release/bin --cases 40                40 cases of them all, as in the suite
"""

import argparse
import gzip
import json
import os
import pathlib
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile

PROFILE = pathlib.Path(__file__).parent.parent / "fuzz" / "corpus" / "pprof" / "own.pb.gz"
TIMEOUT_S = 120
IMPORTS = 3
HUNG = 124  # as of timeout(1)
NOT_OF_DAMAGE = ("samples are few", "also recorded")
NO_FILES = ("folder", "pipe", "link")


class Programs:
    def __init__(self, folder):
        self.perfleet = str(folder / "perfleet")
        self.gateway_program = str(folder / "perfleet-gateway")

    def run(self, *arguments):
        command = [self.perfleet, *map(str, arguments)]
        try:
            return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
                                  check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, HUNG, "", "")

    def gateway(self, store, *options):
        """The process and the line that says it is ready; an empty line: it ended."""
        process = subprocess.Popen([self.gateway_program, "--data", str(store), "--listen", "tcp://127.0.0.1:*",
                                    "--query", "none", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace")
        is_ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
        return process, process.stdout.readline() if is_ready else ""


def end(process, number):
    """The exit status, and what it logged."""
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, errors
    except subprocess.TimeoutExpired:
        process.kill()
        return HUNG, process.communicate()[1]


def copy_folder(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.sock"))


def profile(folder, number):
    """PROFILE with another time_nanos: what is imported again is a duplicate."""
    path = folder / f"{number}.pb.gz"
    time_nanos = bytes([9 << 3, number + 1])  # protobuf: the last value of a field counts
    path.write_bytes(gzip.compress(gzip.decompress(PROFILE.read_bytes()) + time_nanos))
    return path


def make_store(programs, store, older):
    """Several table files, a log that a killed gateway leaves, and the folder as it was before that."""
    for number in range(IMPORTS):
        result = programs.run("import", "--data", store, profile(store.parent, number))
        assert result.returncode == 0, result.stderr
    copy_folder(store, older)
    process, ready = programs.gateway(store, "--no-compaction")  # which writes files, and leaves an empty log
    endpoint = ready.split("listen=")[1].split()[0]
    for number in range(IMPORTS, IMPORTS + 2):
        result = programs.run("import", "--gateway", endpoint, profile(store.parent, number))
        assert result.returncode == 0, result.stderr
    end(process, signal.SIGKILL)
    assert any(path.stat().st_size for path in store.glob("*.log")), "a log without rows"


class Answer:
    """A table command's answer about all sessions."""

    def __init__(self, programs, store, command="losses"):
        result = programs.run(command, "--data", store, "--all", "--format", "json")
        self.status = result.returncode
        self.text = result.stderr
        ledger = {}
        self.warnings = []
        self.rows = []
        if self.status == 0:
            document = json.loads(result.stdout)
            ledger = document["ledger"]
            self.rows = document["rows"]
            self.warnings = [text for text in document["warnings"]
                             if not any(other in text for other in NOT_OF_DAMAGE)]
        self.stored = ledger.get("stored", 0)
        self.lost = ledger.get("lost", {})
        self.is_at_least = "at_least" in ledger

    def names_a_loss(self, intact):
        return bool(self.status != 0 or self.warnings or self.lost != intact.lost or
                    self.is_at_least != intact.is_at_least)


def faults_of(programs, store, intact, names):
    """What is wrong with what the programs say of this store; nothing where all is well."""
    faults = []
    crashed = set()

    def check_status(what, status):
        if status < 0 or status >= HUNG:
            crashed.add(f"{what} ended with {status}")

    def look(when):
        verified = programs.run("inspect", "--verify", "--data", store)
        check_status("inspect", verified.returncode)
        answer = Answer(programs, store)
        check_status("losses", answer.status)
        if answer.stored > intact.stored:
            faults.append(f"{when}: {answer.stored} rows of {intact.stored}")
        if answer.status == 0 and answer.stored < intact.stored:
            if not answer.names_a_loss(intact):
                faults.append(f"{when}: losses has {answer.stored} rows of {intact.stored} and names nothing")
            if verified.returncode == 0:
                faults.append(f"{when}: inspect --verify says that {answer.stored} rows of {intact.stored} are sound")
        top = Answer(programs, store, "top")
        check_status("top", top.status)
        if top.status == 0 and top.rows != names.rows and not top.names_a_loss(names):
            faults.append(f"{when}: top has other rows and names nothing")
        return answer

    before = look("before the start")
    process, ready = programs.gateway(store)
    status, log = end(process, signal.SIGTERM)
    check_status("the gateway", status)
    if not ready and "perfleet-gateway: " not in log:
        faults.append("the gateway ended without a word")
    after = look("after the start")
    if ready and before.status == 0 and after.status == 0 and after.stored < before.stored:
        faults.append(f"the start lost rows: {after.stored} of {before.stored} that were readable")
    return faults + sorted(crashed)


def damaged(kind, content, place, other):
    if kind == "flip":
        return content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1:]
    if kind == "cut":
        return content[:place]
    if kind == "zero":
        return content[:place] + bytes(min(64, len(content) - place)) + content[place + 64:]
    return other


def put_no_file(kind, path):
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path.parent / "nowhere")


def cases_of(store, older, others, places, rng):
    for path in sorted(p for p in store.iterdir() if p.is_file()):
        for kind in NO_FILES:
            yield path.name, kind, 0, None
        size = path.stat().st_size
        for kind in ("flip", "cut", "zero"):
            chosen = range(size) if places >= size else sorted(rng.sample(range(size), places))
            for place in chosen:
                yield path.name, kind, place, None
        candidates = [others / path.name, older / path.name] + sorted(
            p for p in store.iterdir() if p.suffix == path.suffix and p != path and p.is_file())
        for place, candidate in enumerate(candidates[:max(places, 1)]):
            if candidate.is_file() and candidate.read_bytes() != path.read_bytes():
                yield path.name, "replace", place, candidate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--places", type=int, default=5, help="of each file and kind")
    parser.add_argument("--cases", type=int, help="of all, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose names begin so")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    programs = Programs(options.bin.resolve())
    with tempfile.TemporaryDirectory(prefix="perfleet-damage-") as folder:
        root = pathlib.Path(folder)
        store, older, others, work = root / "store", root / "older", root / "others", root / "work"
        make_store(programs, store, older)
        make_store(programs, others, root / "older-others")
        intact = Answer(programs, store)
        assert intact.status == 0 and intact.stored > 0 and not intact.warnings, intact.text
        names = Answer(programs, store, "top")
        assert names.status == 0 and names.rows and not names.warnings, names.text
        copy_folder(store, work)
        faults = faults_of(programs, work, intact, names)
        assert not faults, faults
        cases = [case for case in cases_of(store, older, others, options.places, rng)
                 if case[0].startswith(options.only)]
        if options.cases is not None and options.cases < len(cases):
            cases = rng.sample(cases, options.cases)
        bad = 0
        for name, kind, place, other in cases:
            copy_folder(store, work)
            content = (work / name).read_bytes()
            if kind in NO_FILES:
                put_no_file(kind, work / name)
            else:
                (work / name).write_bytes(damaged(kind, content, place, other and other.read_bytes()))
            faults = faults_of(programs, work, intact, names)
            if faults:
                bad += 1
                print(f"{name}: {kind} {other.relative_to(root) if other else f'at {place} of {len(content)}'}",
                      flush=True)
                for fault in faults:
                    print(f"  {fault}", flush=True)
        print(f"{len(cases)} cases, {bad} bad; {intact.stored} rows in {len(list(store.iterdir()))} files")
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
