#!/usr/bin/env python3
"""Runs the calls of tests/perf_calls.txt: what users of perf type works, is ignored with a word, or gives a hint whose commands work.

perf_calls.py BIN_DIR CALLS [--part K/N]: prints a line a call that fails; exit status 1 when one does.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

TIMEOUT_S = 120
STATUS = {"works": 0, "live": 0, "ignored": 0, "hint": 2}
QUOTED = re.compile(r"'(perfleet [^']+)'")
# It has functions that annotate and top can name, and runs long enough for samples.
WORK = "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done"


class Caller:
    def __init__(self, programs):
        self.folder = tempfile.mkdtemp(prefix="perfleet-perf-calls-")
        self.environment = dict(os.environ, HOME=self.folder, PATH=os.path.abspath(programs) + ":" + os.environ["PATH"],
                                LC_ALL="C.UTF-8", PERFLEET_PAGER="cat", TERM="dumb")
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DEBUGINFOD_URLS"):
            self.environment.pop(name, None)
        self.recorded = False  # what queries are of
        self.sleeper = subprocess.Popen(["sleep", "1000"])
        for _ in range(2):  # for diff
            self.run(f"perfleet record -g -F 2000 -- sh -c '{WORK}'")
        self.run("perfleet export --to perf.data -o perf.data")
        answer = json.loads(self.run("perfleet top --by symbol --format json")[1])
        column = [one["name"] for one in answer["columns"]].index("symbol")
        self.function = next(row[column] for row in answer["rows"] if re.fullmatch(r"[a-z_0-9]+", row[column]))

    def close(self):
        self.sleeper.kill()
        self.sleeper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # What calls record goes into another store, so that all queries are of the same recordings. Watching is
    # interrupted.
    def run(self, line, is_call=False, is_live=False):
        environment = dict(self.environment)
        if is_call and (self.recorded or re.match(r"perfleet (record|compare|latency)", line)):
            if os.path.exists(os.path.join(self.folder, "timeline.html")):
                os.remove(os.path.join(self.folder, "timeline.html"))
            environment["XDG_DATA_HOME"] = os.path.join(self.folder, "recorded")
        if is_live or re.match(r"perfleet top -d", line):
            line = "timeout --preserve-status -s INT 3 " + line
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S)
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")

    def filled(self, line):
        for word, value in (("COMMAND", "true"), ("PID", str(self.sleeper.pid)), ("FUNCTION", self.function),
                            ("COLUMNS", "command"), ("FILE", "counts.txt")):
            line = re.sub(rf"\b{word}\b", value, line)
        return line

    # The fault; empty: none.
    def faults_of(self, kind, call, text):
        status, out, err = self.run("perfleet " + self.filled(call), True, kind == "live")
        said = out + err
        faults = []
        if status != STATUS[kind]:
            faults.append(f"exit status {status}")
        if (kind == "ignored") != (": ignored: " in err):
            faults.append("says of nothing that it is ignored" if kind == "ignored" else "ignores something")
        if kind == "live" and not re.search(r"^\S+Z  \d+ samples? ", out):
            faults.append("shows no table")
        if self.filled(text) not in said:
            faults.append(f"doesn't say {text}")
        if kind == "hint" and len(err.splitlines()) > 3:
            faults.append("is long")
        hints = QUOTED.findall(err) if kind == "hint" else []
        for hint in hints:
            self.recorded = hints[0].startswith("perfleet record")
            hinted, _, hint_err = self.run(self.filled(hint), True)
            self.recorded = False
            if hinted != 0 and "this kernel has no" not in hint_err:
                faults.append(f"'{hint}' ends with {hinted}: {hint_err[-300:]}")
        return faults and [*faults, said[-600:]]


def main():
    programs, calls = sys.argv[1:3]
    part, parts = (int(number) for number in sys.argv[4].split("/")) if len(sys.argv) > 3 else (1, 1)
    caller = Caller(programs)
    failed = count = 0
    try:
        with open(calls) as file:
            lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
        for line in lines[part - 1::parts]:
            kind, rest = line.split(None, 1)
            call, _, text = rest.partition(" | ")
            count += 1
            faults = caller.faults_of(kind, call, text.strip())
            if faults:
                failed += 1
                print(f"perfleet {call} ({kind}): " + "\n    ".join(faults), flush=True)
    finally:
        caller.close()
    print(f"{count} calls, {failed} not as they should be")
    return 1 if failed or count < 50 // parts else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
