#!/usr/bin/env python3
"""What somebody who knows perf does in a first hour with perfleet, in pipes and in a terminal of 80 columns.

first_hour.py BIN_DIR [STEP... | --part K/N]: prints a line a step; exit status 1 when one fails. The programs, perf, gzip and xz are
the real ones; everything is written below a temporary folder.
"""
import fcntl
import gzip
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata

COLUMNS = 80
LINES = 24
TIMEOUT_S = 60
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CURSOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


def width(line):
    plain = CURSOR.sub("", line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


class User:
    """Somebody at a shell, with a home of their own."""

    def __init__(self, bin_dir):
        self.bin = bin_dir
        self.folder = tempfile.mkdtemp(prefix="perfleet-first-hour-")
        self.environment = dict(os.environ, HOME=self.folder, PATH=bin_dir + ":" + os.environ["PATH"], TERM="xterm",
                                PERFLEET_PAGER="cat", LC_ALL="C.UTF-8")
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "NO_COLOR", "DEBUGINFOD_URLS", "COLUMNS"):
            self.environment.pop(name, None)
        with open(self.path("input"), "wb") as file:
            file.write(b"".join(b"%d perfleet\n" % (i * i) for i in range(200_000)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, line, status=0):
        """In pipes. `status` None: any but a crash."""
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S)
        result = Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        check(status is None or result.status == status,
              f"{line}: exit status {result.status}, not {status}:\n{result.out[-2000:]}{result.err[-2000:]}")
        check("\x1b" not in result.out + result.err, f"{line}: control sequences in a pipe")
        return result

    def see(self, line, status=0):
        """In a terminal: what is seen, as text; no line may be wider than it."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "-c", f"stty rows {LINES} cols {COLUMNS}; {line}"], self.environment)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        seen = b""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    piece = os.read(terminal, 65536)
                except OSError:
                    break
                if not piece:
                    break
                seen += piece
        else:
            os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        text = seen.decode("utf-8", "replace").replace("\r\n", "\n")
        check(status is None or code == status, f"{line}: exit status {code}, not {status}:\n{text[-2000:]}")
        for one in text.split("\n"):
            last = one.split("\r")[-1]
            check(width(last) <= COLUMNS, f"{line}: {width(last)} columns: {last}")
        return text

    def json(self, line):
        result = self.run(line + " --format json")
        answer = json.loads(result.out)
        columns = [column["name"] for column in answer["columns"]]
        return [dict(zip(columns, row)) for row in answer["rows"]], answer


STEPS = []


def step(function):
    STEPS.append(function)
    return function


def xz(user):
    return "xz -T1 -k -c -1 input"


# --- The first recording

@step
def help_fits_a_terminal(user):
    for command in ("", "record", "top", "report", "tree", "diff", "export", "sessions", "latency", "stat", "script",
                    "annotate", "control", "import", "copy", "completion"):
        text = user.see(f"perfleet {command} --help")
        usage = next((line for line in text.splitlines() if line.startswith("Usage:")), "")
        check(usage and "(" not in usage, f"{command}: {usage}")
        check(not re.search(r"^ +-\S*\{", text, re.MULTILINE), f"{command}: words of the library:\n{text}")


@step
def version_is_told(user):
    check(re.match(r"perfleet \d+\.\d+\.\d+", user.run("perfleet --version").out), "no version")


@step
def without_a_recording_the_way_out_is_told(user):
    check("perfleet record" in user.run("perfleet top", status=1).err, "no hint at record")


@step
def record_leaves_standard_output_alone(user):
    user.run("perfleet record -g -- gzip -c input > f.gz")
    user.run("gzip -t f.gz && zcat f.gz | cmp - input")


@step
def record_shows_where_the_time_went(user):
    result = user.run(f"perfleet record -g -- {xz(user)} > /dev/null")
    check("[liblzma" in result.err and "rows" in result.err, result.err)


@step
def record_quietly(user):
    check(user.run(f"perfleet record -q -- {xz(user)} > x.xz").err == "", "-q says something")
    user.run("xz -t x.xz")


@step
def record_in_a_terminal_fits(user):
    text = user.see(f"perfleet record -g -- {xz(user)} > /dev/null")
    on_screen = text.splitlines()[-LINES + 1:]
    check(any("percent" in line and "symbol" in line for line in on_screen), "the headings are beyond the screen:\n" + text)


@step
def record_names_the_command_that_shows_all_columns(user):
    text = user.see(f"perfleet record -g -- {xz(user)} > /dev/null")
    hint = " ".join(text.split())
    check("left out for 80 columns" not in hint or "perfleet top --wide shows all" in hint, text)
    user.see("perfleet top --wide > /dev/null")


@step
def ranges_of_delays_are_refused_with_the_way_out(user):
    for ranges in ("10-20", "10-20,30-40"):
        error = user.run(f"perfleet record -D {ranges} -- true", status=2).err
        check("ranges" in error and "--duration" in error, error)


@step
def exit_status_is_the_commands(user):
    user.run("perfleet record -q -- sh -c 'exit 7'", status=7)
    user.run("perfleet record -q -- sh -c 'kill -TERM $$'", status=143)
    check("not found" in user.run("perfleet record -- no-such-program", status=127).err, "no reason")


@step
def two_records_at_once_both_run(user):
    before = len(user.json("perfleet sessions")[0])
    user.run("perfleet record -q -- sh -c 'sleep 0.5; echo one > one' & "
             "perfleet record -q -- sh -c 'sleep 0.5; echo two > two' & wait")
    user.run("cat one two")
    check(len(user.json("perfleet sessions")[0]) == before + 2, "a session is missing")


@step
def record_to_a_perf_data_file(user):
    user.run(f"perfleet record -q -g -o out.data -- {xz(user)} > /dev/null")
    check("liblzma" in user.run("perf report -i out.data --stdio 2>/dev/null").out, "perf report shows nothing")
    user.run(f"perfleet record -q -o out.data -- {xz(user)} > x.xz; test -e out.data.old")


@step
def record_a_process_by_pid(user):
    result = user.run("yes > /dev/null & p=$!; perfleet record -p $p --duration 0.6; s=$?; kill $p; exit $s")
    check("yes" in result.err, result.err)


def stacks(user):
    """Those of the last session: (frames, outermost first; samples)."""
    lines = [line.rsplit(" ", 1) for line in user.run("perfleet export --to folded --measure samples -o -").out.splitlines()]
    return [(stack.split(";")[1:], int(count)) for stack, count in lines]


def share(chains, is_one):
    return sum(count for frames, count in chains if is_one(frames)) / max(sum(count for _, count in chains), 1)


@step
def within_execve_a_chain_is_the_kernels_alone(user):
    said = user.run("perfleet record -g -e cpu-clock -F 4999 -- sh -c 'for i in $(seq 80); do /bin/true; done'").err
    if "unwound by BPF" not in said:
        return
    execs = [(frames, count) for frames, count in stacks(user) if any("sys_execve" in frame for frame in frames)]
    check(execs, "no sample within execve")
    cut = share(execs, lambda frames: frames[0].startswith("[truncated"))
    check(cut < 0.1, f"{cut}: {[frames[:3] for frames, _ in execs if frames[0].startswith('[truncated')][:5]}")


@step
def functions_of_short_python_programs_have_names(user):
    if " 3.11." not in user.run("/usr/bin/python3 --version", status=None).out:
        return
    with open(user.path("brief.py"), "w", encoding="utf-8") as file:
        file.write("def leaf(n):\n    s = 0\n    for i in range(n):\n        s += i * i\n    return s\n"
                   "def middle():\n    return leaf(200000)\nmiddle()\n")
    said = user.run("perfleet record -g -e cpu-clock -F 1999 -- "
                    "sh -c 'for i in $(seq 15); do /usr/bin/python3 brief.py; done'").err
    if "unwound by BPF" not in said:
        return
    check(said.count("have no names of") <= 1, said)
    named = re.compile(r"\.py:\d+\)$|\(<.*:\d+\)$")
    interpreted = [(frames, count) for frames, count in stacks(user)
                   if any(named.search(frame) or frame == "_PyEval_EvalFrameDefault" for frame in frames)]
    # However busy the machine is: frames without names are counted.
    unnamed = sum(count for frames, count in interpreted if "_PyEval_EvalFrameDefault" in frames)
    not_read = [row for row in user.json("perfleet losses")[0] if row["kind"] == "sample"][-1]["names_not_read"]
    check(unnamed <= not_read, f"{unnamed} without names, {not_read} counted: {stacks(user)[:5]}")
    leaf = [frames for frames, _ in interpreted if "leaf (brief.py:1)" in frames]
    check(leaf and all(frames[frames.index("leaf (brief.py:1)") - 1] == "middle (brief.py:6)" for frames in leaf), leaf[:2])


@step
def time_of_short_processes_is_said_apart(user):
    said = user.run("perfleet record -e cpu-clock -F 499 -- "
                    "sh -c 'i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i + 1)); done'").err
    rows, _ = user.json("perfleet losses")
    samples = [row for row in rows if row["kind"] == "sample"][-1]
    if samples["unchecked"] == 1:  # without rights the kernel's part of it isn't sampled
        return
    check("no sample can stand for" in said, said)
    check(samples["below_period"] >= 20, samples)
    check("no sample can stand for" in user.run("perfleet top").err, "top doesn't warn")


@step
def record_everything(user):
    user.run("yes > /dev/null & p=$!; perfleet record -q -a -g --duration 0.6; s=$?; kill $p; exit $s")
    rows, _ = user.json("perfleet top --by command")
    check(any(row["command"] == "yes" for row in rows), "yes isn't there")


@step
def record_at_a_frequency_or_period(user):
    user.run(f"perfleet record -q -F 199 -- {xz(user)} > /dev/null")
    user.run("perfleet record -q -e page-faults -c 1 -- true")
    # In a store of its own: it may have most of the samples of all these steps.
    user.run("perfleet record -q -F max --data most-often --duration 1 -- true")
    check("frequency" in user.run("perfleet record -F 0 -- true", status=2).err, "no reason")


# --- Looking at it

@step
def top_takes_the_last_session_and_says_so(user):
    user.run(f"perfleet record -q -g -- {xz(user)} > /dev/null")
    result = user.run("perfleet top")
    check(re.match(r"perfleet: session [0-9a-f]{8}, \d+ s ago: xz .* \(of \d+ sessions; --all: every one\)\n", result.err), result.err)
    check(user.run("perfleet top --all").out != result.out, "--all changes nothing")


@step
def top_fits_a_terminal(user):
    for options in ("", "--all", "--by thread,symbol", "--addresses --all"):
        text = user.see(f"perfleet top {options}")
        check("xz" in text and "rows: " in text, f"{options}: {text}")


@step
def report_is_another_name_of_top(user):
    check(user.run("perfleet report").out == user.run("perfleet top").out, "differs")


@step
def functions_of_a_library_without_symbols_are_told_apart(user):
    rows, answer = user.json("perfleet top")
    check(sum(row["symbol"].startswith("[liblzma.so.") and "+0x" in row["symbol"] for row in rows) > 1, rows[:5])
    # Code of the C runtime that runs before and after it has no unwind table.
    unknown = sum(row["self_samples"] for row in rows if row["symbol"].startswith("[liblzma.so.") and "+0x" not in row["symbol"])
    check(unknown * 20 <= sum(row["self_samples"] for row in rows), rows)
    check(any("DEBUGINFOD" in warning for warning in answer["warnings"]), answer["warnings"])
    check(len(user.json("perfleet top --addresses")[0]) > len(rows), "--addresses shows no more")


@step
def counts_are_perfs(user):
    user.run("perfleet export --to perf.data -o counts.data")
    perf = user.run("perf script -i counts.data -F comm,ip,dso 2>/dev/null").out
    samples = len([block for block in perf.split("\n\n") if block.strip()])
    check(sum(row["self_samples"] for row in user.json("perfleet top")[0]) == samples, f"perf has {samples}")


@step
def top_sorts_as_perf_report_spells_it(user):
    by_image, _ = user.json("perfleet top --by image")
    for words in ("-s dso", "--sort dso --stdio", "--by dso -n"):
        check(user.json(f"perfleet report {words}")[0] == by_image, words)
    own, _ = user.json("perfleet report --no-children --percent-limit 10")
    check(own and all(row["self_percent"] >= 10 and "children" not in row for row in own), "--no-children: its own time")
    check(user.json("perfleet top -s comm -s sym")[0] == user.json("perfleet top --by command,symbol")[0], "two lists")


@step
def options_of_perf_name_what_to_use_instead(user):  # more of them stand in tests/perf_calls.txt
    user.run("perfleet report --children --stdio --no-children -n -g none -f")
    for words, instead in (("report --time 10%-120%", "--from"), ("script --time 1", "START,STOP")):
        error = user.run(f"perfleet {words}", status=2).err
        check(instead in error, f"{words}: {error}")


@step
def a_perf_data_file_is_read_in_place(user):
    with open(user.path("plain.c"), "w", encoding="utf-8") as file:
        file.write("int main() { volatile long x = 0; for (long i = 0; i < 300000000L; ++i) x += i; return 0; }\n")
    # As perf's cache leaves a program: it has build-ids and hard links of the sampled files.
    user.run("gcc -O1 -o plain plain.c && perf record -q -B -N -g -e cpu-clock -o plain.data -- ./plain && "
             "sleep 0.1 && ln plain linked")
    perf = user.run("perf script -i plain.data -F comm,ip,dso 2>/dev/null").out
    samples = len([block for block in perf.split("\n\n") if block.strip()])
    before = len(user.json("perfleet sessions")[0])
    for source in ("perfleet report -i plain.data", "cat plain.data | perfleet top -i -"):
        rows, _ = user.json(source)
        check(sum(row["self_samples"] for row in rows) == samples, f"{source}: perf has {samples}")
        check(any(row["symbol"] == "main" for row in rows), f"{source}: {rows[:3]}")
    check("main" in user.run("perfleet flamegraph --text -i plain.data").out, "no flame graph")
    user.run("perfleet export --to pprof -i plain.data -o plain.pb.gz && perfleet top -i plain.pb.gz")
    check(len(user.json("perfleet sessions")[0]) == before, "it is in the store")
    check("perf.data" in user.run("perfleet top -i plain.c", status=2).err, "no reason")
    for words in ("top -i /dev/zero", "import /dev/zero", "import --format perf.data /dev/zero"):
        error = user.run(f"perfleet {words}", status=2).err
        check("not a perf.data file" in error, f"{words}: {error}")
    check("plain.data" in user.run("head -c 60 plain.data > plain.cut; cat plain.cut > plain.data; "
                                   "perfleet top -i plain.data", status=1).err, "no place")


@step
def a_flame_graph_is_a_page_or_a_picture_by_its_name(user):
    for name, begin in (("flame", b"<!DOCTYPE html"), ("flame.html", b"<!DOCTYPE html"), ("flame.svg", b"<svg"), ("flame.png", b"\x89PNG")):
        user.run(f"perfleet flamegraph -o {name}")
        with open(user.path(name), "rb") as file:
            check(file.read(20).startswith(begin), name)
    check(".html" in user.run("perfleet flamegraph -o flame.pdf", status=2).err, "no way out")
    check("FILE.html" in user.run("perfleet flamegraph -o compared.svg --before last", status=2).err, "no way out")


@step
def what_is_shown_to_others_can_be_anonymous(user):
    program = user.path("alices-secret/work")
    os.makedirs(os.path.dirname(program))
    shutil.copy("/usr/bin/xz", program)
    user.run(f"perfleet record -q -g --name shown --target alices-host -- {program} --stdout -1 input > /dev/null")
    formats = {"shown.page": " --to html --as json", "shown.data": " --to perf.data"}
    for name in ("shown.page", "shown.data", "shown.folded", "shown.speedscope.json", "shown.pb.gz", "shown.json"):
        to = formats.get(name, "")
        for options, expected in (("--anonymise", False), ("", name in ("shown.page", "shown.data", "shown.pb.gz"))):
            user.run(f"perfleet export{to} --session shown -o {name} --force {options}")
            with open(user.path(name), "rb") as file:
                written = file.read()
            written = gzip.decompress(written) if name.endswith(".gz") else written
            check(expected == (b"alices-secret" in written), f"{name} {options}: folders")
            check(b"work" in written, f"{name} {options}: the program's name is lost")
            check(options == "" or b"--stdout" not in written, f"{name}: arguments")
            check(options == "" or b"alices-host" not in written, f"{name}: the host's name")
    lines = user.run("perfleet script --session shown --anonymise").out
    check("/folder-" in lines and "alices-secret" not in lines, "script: folders")
    user.run("perfleet sessions rm shown")


@step
def tree_and_inverted_tree(user):
    check("xz" in user.see("perfleet tree"), "no tree")
    check("[liblzma" in user.see("perfleet tree --inverted"), "no inverted tree")


@step
def callers_of_a_function(user):
    rows, _ = user.json("perfleet top --by symbol")
    called = max((row for row in rows if row["children_samples"] > row["self_samples"]), key=lambda row: row["children"])
    check(user.json(f"perfleet top --callers '{called['symbol']}'")[0], "no callers")
    user.run("perfleet top --callers no_such_function", status=1)


@step
def filters_as_perf_spells_them(user):
    whole = sum(row["self_samples"] for row in user.json("perfleet top")[0])
    for image, spelling in (("liblzma.so.5", "--dso"), ("liblzma.so.5", "--image")):
        name = next(row["image"] for row in user.json("perfleet top")[0] if row["image"].startswith(image))
        part = sum(row["self_samples"] for row in user.json(f"perfleet top {spelling} {name}")[0])
        check(0 < part < whole, f"{spelling}: {part} of {whole}")
    check(sum(row["self_samples"] for row in user.json("perfleet top --comm xz")[0]) == whole, "--comm")
    check(user.json("perfleet top --comm nobody")[0] == [], "--comm nobody")
    check(sum(row["self_samples"] for row in user.json("perfleet top -C 0-1023")[0]) == whole, "-C")
    pid = user.json("perfleet top --by thread")[0][0]["pid"]
    check(sum(row["self_samples"] for row in user.json(f"perfleet top --pid {pid}")[0]) == whole, "--pid")


@step
def globs_take_what_they_match(user):
    rows, _ = user.json("perfleet top")
    for option, column, glob, start in (("--comm", "command", "'x*'", "x"), ("--image", "image", "'liblzma*'", "liblzma"),
                                        ("--symbol", "symbol", "'?liblzma*'", "[liblzma")):
        expected = sum(row["self_samples"] for row in rows if row[column].startswith(start))
        part = sum(row["self_samples"] for row in user.json(f"perfleet top {option} {glob}")[0])
        check(expected == part > 0, f"{option}: {part}, not {expected}")


@step
def ranges_of_time_are_perfs(user):
    user.run("perfleet export --to perf.data -o ranges.data")

    def perf(options):
        return user.run(f"perf script -i ranges.data -G -F time --ns {options} 2>/dev/null").out.replace(":", "").split()

    times = perf("")
    early, late = times[len(times) // 5], times[len(times) // 2]
    for part in ("10%-20%", "10%/3", "90%-100%", "0%-100%", f"{early},{late}", f"{early},", f",{late}"):
        expected = len(perf(f"--time {part}"))
        check(0 < expected <= len(times), f"perf: {expected} of {len(times)}")
        for source in ("", "-i ranges.data"):
            count = sum(row["self_samples"] for row in user.json(f"perfleet top {source} --time {part}")[0])
            check(count == expected, f"{source} --time {part}: {count}, perf has {expected}")
        script = user.run(f"perfleet script -G -F time --ns --time {part}").out.split()
        check(len(script) == expected, f"script --time {part}: {len(script)}, perf has {expected}")
    check("--from" in user.run("perfleet top --time 10%-20% --from -1h", status=2).err, "both are taken")


@step
def sessions_are_listed(user):
    text = user.see("perfleet sessions")
    check("ended" in text and "cpu-clock" in text, text)
    before = len(user.json("perfleet sessions")[0])
    user.run("perfleet record -q -- true")
    rows, _ = user.json("perfleet sessions")
    check(len(rows) == before + 1, "sessions are missing")
    last, answer = user.json("perfleet sessions --limit 1")
    check(last == rows[-1:], "not the last session")
    check(f"{before} older sessions are left out (--limit)" in answer["warnings"], answer["warnings"])


@step
def sessions_are_named_and_removed(user):
    rows, _ = user.json("perfleet sessions")
    first = rows[0]["session"]
    user.run(f"perfleet sessions name {first} baseline")
    user.run("perfleet top --session baseline")
    user.run("perfleet sessions rm baseline")
    check(first not in [row["session"] for row in user.json("perfleet sessions")[0]], "it is still there")
    user.run("perfleet sessions gc --keep 10g")


@step
def times_are_from_and_until(user):
    expected = user.run("perfleet top --from -1h --until now").out
    for words in ("yesterday", "1h"):
        check(user.run(f"perfleet top --from {words}").out == expected, f"--from {words} shows something else")
    check("--from" in user.run("perfleet top --from tomorrow", status=2).err, "no reason")


@step
def what_is_redirected_has_whole_names(user):
    user.run(f"perfleet record -q -- {xz(user)} > /dev/null")
    check("…" not in user.run("perfleet top --all --limit 200").out, "names are cut in a pipe")
    check("\x1b[" in user.see("perfleet top"), "no colours in a terminal")
    # A query that takes long shows its progress, and erases that line.
    check(not re.search(r"\x1b\[[0-9;]*m", user.see("NO_COLOR=1 perfleet top")), "NO_COLOR isn't honoured")


@step
def output_into_head(user):
    user.run("perfleet top --all | head -1")


@step
def json_and_csv(user):
    user.json("perfleet top")
    lines = user.run("perfleet top --format csv").out.split("\r\n")
    check("symbol" in lines[0] and len(lines) > 3, lines[0])


@step
def diff_of_two_runs(user):
    named = user.run("perfleet diff --before last~1 --after last").out
    for sides in ("", "last~1", "last~1 last"):
        check(user.run(f"perfleet diff {sides}").out == named, f"diff {sides}")
    check("two ways" in user.run("perfleet diff last~1 --after last", status=2).err, "two ways to name a side")
    user.run(f"perfleet record -q -g -- {xz(user)} > /dev/null")
    text = user.see("perfleet diff --before last~1 --after last")
    check("samples before" in text, text)


# --- In other tools

@step
def export_for_perf(user):
    user.run("perfleet export --to perf.data -o p.data")
    check("liblzma" in user.run("perf report -i p.data --stdio 2>/dev/null").out, "perf report")
    check("xz" in user.run("perf script -i p.data 2>/dev/null").out, "perf script")
    check(oct(os.stat(user.path("p.data")).st_mode & 0o777) == "0o600", "mode")


@step
def the_command_line_is_that_of_a_shell(user):
    header = user.run("perf report -i p.data --header-only").out
    check(re.search(r"# cmdline : perfleet record ", header), header)


@step
def files_are_not_overwritten(user):
    user.run("perfleet export --to folded -o stacks.txt")
    check("--force" in user.run("perfleet export --to folded -o stacks.txt", status=None).err, "no hint at --force")
    user.run("perfleet export --to folded -o stacks.txt --force")


@step
def folded_stacks_for_flame_graphs(user):
    lines = user.run("perfleet export --to folded --measure samples -o -").out.splitlines()
    check(all(re.match(r".+ \d+$", line) for line in lines) and lines, lines[:3])


@step
def script_prints_each_sample(user):
    text = user.run("perfleet script").out
    check("xz" in text and "cpu-clock" in text, text[:300])
    user.run("perfleet script -F comm,tid,time,event,ip,sym")
    for line in user.run("perfleet script --format json").out.splitlines()[:5]:
        json.loads(line)
    seen = user.see("PERFLEET_PAGER='sed s/^/paged/' perfleet script -G -F comm,event")
    check("paged" in seen, seen[:300])
    check("paged" not in user.see("PERFLEET_PAGER='sed s/^/paged/' perfleet script -G -F comm,event --no-pager"), "paged")
    check(len(user.see("PERFLEET_PAGER='head -2' perfleet script -G -F comm,event").splitlines()) < 10, "it goes on")
    user.see("PERFLEET_PAGER=no-such-pager perfleet script -G -F comm,event")
    user.run("perfleet script | head -2")


@step
def script_prints_the_time_of_day(user):
    user.run("perfleet export --to perf.data -o tod.data")
    ours = user.run("perfleet script -G -F tod,event").out.split("\n")
    perfs = user.run("perf script -i tod.data -G -F tod,event 2>/dev/null").out.split("\n")
    check(len(ours) == len(perfs) and ours[0][:22] == perfs[0].strip()[:22], f"{ours[0]} is not {perfs[0]}")


@step
def script_refuses_fields_with_a_reason(user):
    for field, reason in (("brstack", "perfleet record -b"), ("misc", "isn't recorded"), ("+srcline", "perf script"),
                          ("sw:comm", "--event")):
        error = user.run(f"perfleet script -F {field}", status=2).err
        check(reason in error, error)


@step
def script_of_several_targets_names_them(user):
    for target in ("north", "south"):
        user.run(f"perfleet record -q --data fleet --target {target} -- {xz(user)} > /dev/null")
    lines = user.run("perfleet script --data fleet --all -G -F comm,tod").out.splitlines()
    check({line.split()[0] for line in lines} == {"north", "south"}, lines[:3])
    check({json.loads(line)["target"] for line in
           user.run("perfleet script --data fleet --all --format json").out.splitlines()} == {"north", "south"}, "json")
    check("north" not in user.run("perfleet script --data fleet --select '{target=\"north\"}' -G -F comm").out, "one")


@step
def annotate_shows_instructions(user):
    with open(user.path("spin.c"), "w", encoding="utf-8") as file:
        file.write("int main(int c, char **v) { volatile long x = 0; (void)v;\n"
                   "  for (long i = 0; i < 300000000L; ++i) x += i * c;\n  return 0; }\n")
    user.run("gcc -g -O1 -o spin spin.c && perfleet record -q -- ./spin")
    text = user.run("perfleet annotate main").out
    check(re.search(r"\d+\.\d+", text) and "main" in text and re.search(r"\badd|\bmov", text), text[:500])
    check("no_such_symbol" in user.run("perfleet annotate no_such_symbol", status=1).err, "it isn't named")


@step
def a_rebuilt_program_keeps_its_names(user):
    check("main" in user.run("perfleet top").out, "no main")
    shutil.copy(user.path("spin.c"), user.path("spin_before.c"))
    with open(user.path("spin.c"), "w", encoding="utf-8") as file:
        file.write("int other(int c) { return c * 3; }\nint main(int c, char **v) { (void)v; return other(c) == 9; }\n")
    user.run("gcc -O0 -o spin spin.c; true")
    rows, _ = user.json("perfleet top")
    check(rows[0]["symbol"] == "main", rows[0])
    result = user.run("perfleet annotate main")
    check("is another build" in result.err, result.err)
    check(re.search(r"100?\.?\d*%|\d+\.\d+%", result.out) and "main+0x" in result.out, result.out)
    check("push" not in result.out and "spin.c" not in result.out, f"another build is disassembled: {result.out}")
    os.remove(user.path("spin"))
    check(user.json("perfleet top")[0][0]["symbol"] == "main", "the deleted program lost its names")
    result = user.run("perfleet annotate main")
    check("--symfs" in result.err and "main+0x" in result.out, result.out + result.err)


@step
def a_stripped_program_that_is_gone_is_reported_once(user):
    user.run("gcc -O1 -static -s -o bare spin_before.c && perfleet record -q -- ./bare && rm bare")
    warnings = [line for line in user.run("perfleet top").err.splitlines() if "bare" in line and "warning" in line]
    check(len(warnings) == 1 and "--symfs" in warnings[0], warnings)


@step
def minidebuginfo_names_functions_and_is_kept(user):
    with open(user.path("mini.c"), "w", encoding="utf-8") as file:
        file.write("__attribute__((noinline)) static long turn(long n) { volatile long x = 0;\n"
                   "  for (long i = 0; i < n; ++i) x += i;\n  return x; }\n"
                   "int main(int c, char **v) { (void)v; return turn(200000000L * c) == 1; }\n")
    user.run("gcc -O1 -o mini mini.c && objcopy --only-keep-debug mini rest && xz rest && strip mini && "
             "objcopy --add-section .gnu_debugdata=rest.xz mini && perfleet record -q -- ./mini")
    check(user.json("perfleet top")[0][0]["symbol"] == "turn", "not named")
    os.remove(user.path("mini"))
    check(user.json("perfleet top")[0][0]["symbol"] == "turn", "not kept")


@step
def a_kernel_function_is_annotated_by_its_name(user):
    user.run("perfleet record -q -- dd if=/dev/zero of=/dev/null bs=512 count=400000 2>/dev/null")
    rows = [row for row in user.json("perfleet top --image '[kernel.kallsyms]'")[0] if not row["symbol"].startswith("[")]
    if rows:
        symbol = rows[0]["symbol"]
        check(f"{symbol}+0x" in user.run(f"perfleet annotate {symbol}").out, symbol)


@step
def a_deep_tree_fits_a_terminal(user):
    with open(user.path("deep.c"), "w", encoding="utf-8") as file:
        file.write("static volatile long x;\n__attribute__((noinline)) long a_function_with_a_long_name(int n) {\n"
                   "  if (n == 0) { for (long i = 0; i < 200000000L; ++i) x += i; return x; }\n"
                   "  return a_function_with_a_long_name(n - 1) + x; }\n"
                   "int main() { return a_function_with_a_long_name(90) == 1; }\n")
    user.run("gcc -O1 -fno-optimize-sibling-calls -fno-omit-frame-pointer -o deep deep.c && "
             "perfleet record -q -g -- ./deep")
    for options in ("", "--inverted", "--all --comm deep"):
        check("a_function" in user.see(f"perfleet tree {options}"), options)


@step
def symfs_that_is_not_there_is_an_error(user):
    check("nowhere" in user.run("perfleet top --symfs /nowhere", status=None).err, "no error")
    check(user.run("perfleet top --symfs /nowhere", status=None).status != 0, "no error")


# --- Counting

@step
def stat_counts_a_program(user):
    check("task-clock" in user.see(f"perfleet stat -- {xz(user)} > /dev/null"), "no task-clock")
    check("600000" in user.run(f"perfleet stat -r 3 -e page-faults,task-clock -- {xz(user)} | xz -dc | wc -l").out, "output")


@step
def a_comparison_fits_a_terminal(user):
    text = user.see("perfleet compare -n 3 -- true ::: sleep 0.01")
    check("left out for 80 columns: detects" in text and re.search(r"elapsed \*.* (faster|slower|no|too few)\n", text), text)


@step
def the_cost_of_many_samples_is_said(user):
    said = user.run(f"perfleet record -e cpu-clock -c 20000 -- {xz(user)} > /dev/null").err
    check(re.search(r"samples take about \d+ % of the program's time", said), said)
    user.run("perfleet sessions rm last")


# --- Events

@step
def events_as_perf_spells_them(user):
    for events in ("cpu-clock", "task-clock:u", "page-faults", "faults", "cs", "context-switches", "migrations",
                   "minor-faults", "major-faults", "sched:sched_switch", "sched:sched_wak*",
                   "'{cpu-clock,page-faults}'", "'{cpu-clock,page-faults}:S'", "dummy", "software/cpu-clock/",
                   "cpu-clock/period=100000/", "syscalls:sys_enter_write", "alignment-faults", "emulation-faults",
                   "'syscalls:sys_enter_*'"):
        user.run(f"perfleet record -q -e {events} -- true")


@step
def events_that_this_machine_lacks_are_refused_in_a_sentence(user):
    for events in ("cycles:pp", "LLC-load-misses", "r1a8", "cpu/event=0xc2,umask=1/", "mem:0x1000:rw",
                   "intel_pt//"):
        result = user.run(f"perfleet record -q -e {events} -- true", status=None)
        check(result.status == 0 or (result.status in (1, 2) and 1 <= len(result.err.strip().splitlines()) <= 3),
              f"{events}: {result.status}: {result.err}")
        check("Segmentation" not in result.err and "assert" not in result.err.lower(), result.err)


@step
def events_that_no_machine_has_are_refused(user):
    for events in ("no-such-event", "sched:no_such", "cycles:z", "'{cycles'", "cpu/nonsense=1/"):
        result = user.run(f"perfleet record -q -e {events} -- touch ran", status=None)
        check(result.status in (1, 2) and 1 <= len(result.err.strip().splitlines()) <= 3, f"{events}: {result.err}")
    check(not os.path.exists(user.path("ran")), "the program ran all the same")


@step
def a_tracepoint_filter(user):
    user.run("perfleet record -q -e syscalls:sys_enter_write --filter 'count == 1' -- "
             "dd if=/dev/zero of=/dev/null bs=1 count=25 status=none")
    rows, _ = user.json("perfleet tracepoints --session last")
    check(sum(row.get("count") or row.get("rows") or row.get("hits") or 0 for row in rows) == 25, rows)


@step
def perfs_options_work_or_are_refused_by_name(user):
    for options in ("-z", "-D 50", "-m 16", "--all-user", "--all-kernel", "--call-graph fp", "--call-graph auto", "-g",
                    "--call-graph dwarf", "--call-graph dwarf,16384", "--call-graph bpf", "-i",
                    "-v -R -T -B -N --all-cgroups --aio -r 1"):
        user.run(f"perfleet record -q {options} -- true")
    user.run("perfleet record -q -a -C 0 --duration 0.2 && perfleet record -q --uid 0 --duration 0.2")
    for options in ("--switch-output", "--call-graph lbr", "--call-graph dwarf,1m"):
        user.run(f"perfleet record -q {options} -- true", status=2)
    branches = user.run("perfleet record -q -b -- true", status=None)
    check(branches.status == 0 or "-b: " in branches.err, branches.err)
    for options in ("-d", "-s", "-W", "-I", "--user-regs=sp"):
        result = user.run(f"perfleet record -q {options} -- true", status=None)
        check(result.status == 0 or (result.status == 2 and result.err.strip()), f"{options}: {result.err}")
        check("not expected" not in result.err, f"{options}: {result.err}")


# --- Mistakes

@step
def mistyped_commands_and_options_are_told(user):
    check("top" in user.run("perfleet tpo", status=2).err, "no suggestion")
    check("--limit" in user.run("perfleet top --limti 3", status=2).err, "no suggestion")
    check("cpu-clock" in user.run("perfleet record -e cpu-clok -- true", status=2).err, "no suggestion")


@step
def nothing_to_profile_is_told(user):
    check("-a" in user.run("perfleet record", status=2).err, "no way out")
    check("process" in user.run("perfleet record -p 4194303 --duration 1", status=None).err.lower(), "pid")


@step
def values_without_measurements_say_what_to_do(user):
    result = user.run("perfleet latency", status=None)
    check("perfleet" in result.err and len(result.err.strip()) > 20, result.err)


@step
def help_and_version_are_commands_too(user):
    for words, same in (("help", "--help"), ("help top", "top --help"), ("help sessions name", "sessions name --help"),
                        ("version", "--version")):
        check(user.run(f"perfleet {words}").out == user.run(f"perfleet {same}").out, words)


@step
def commands_that_perf_alone_has_name_another_way(user):
    for command, way in (("sched", "timeline"), ("trace", "raw_syscalls"),
                         ("archive", "symbol tables"), ("data", "script --format json")):
        check(way in user.run(f"perfleet {command} -x y", status=2).err, command)


@step
def a_program_that_hardly_ran_is_told(user):
    told = user.run("perfleet record -F 1 -- true").err
    check("-F 9999" in told or "--off-cpu" in told, told)  # where it took a second, it waited
    user.run("perfleet sessions rm last")


@step
def time_of_short_processes_is_told_once(user):
    told = user.run("perfleet record -F 999 -- sh -c 'for i in $(seq 300); do /bin/true; done'").err
    check(told.count("that no sample can stand for") == 1, told)


# --- Beside others

@step
def perf_record_works_beside_a_collector(user):
    with subprocess.Popen(["perfleet-collector", "-a", "--output", user.path("frames")], env=user.environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as collector:
        time.sleep(0.7)
        done = user.run("perf record -o beside.data -- true", status=None)
        collector.send_signal(signal.SIGTERM)
        collector.wait()
    check(done.status == 0, done.err)


@step
def a_gateway_and_a_collector(user):
    with subprocess.Popen(["perfleet-gateway", "--data", user.path("store"), "--listen", "tcp://127.0.0.1:*",
                           "--query", "tcp://127.0.0.1:*"], env=user.environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as gateway:
        ready = gateway.stdout.readline()
        listen, query = (re.search(name + r"=(\S+)", ready).group(1) for name in ("listen", "query"))
        user.run(f"perfleet-collector --gateway {listen} -g -F 499 -- {xz(user)} > /dev/null")
        rows, answer = user.json(f"perfleet top --gateway {query}")
        # Records that the kernel doesn't deliver on a busy machine are no fault of theirs.
        check(rows and not set(answer["ledger"]["lost"]) - {"timer_late", "not_delivered"}, answer["ledger"])
        check(user.json(f"perfleet top --data {user.path('store')}")[0] == rows, "the folder says something else")
        user.run(f"perfleet record -q --data {user.path('store')} -- true")
        gateway.send_signal(signal.SIGTERM)
        gateway.wait()
    user.run(f"perfleet inspect --verify --data {user.path('store')}")


@step
def watch_ends_with_ctrl_c(user):
    user.run("timeout --preserve-status -s INT 1 perfleet top --watch 0.3 --limit 3")


@step
def completion_and_config(user):
    for shell in ("bash", "zsh", "fish"):
        check("record" in user.run(f"perfleet completion {shell}").out, shell)
    check("memory" in user.run("perfleet config").out, "no config")


def main():
    user = User(os.path.abspath(sys.argv[1]))
    steps = STEPS
    failed = 0
    try:
        if sys.argv[2:3] == ["--part"]:  # K/N: the K-th of N parts; steps stand on the recordings of those before
            number, count = map(int, sys.argv[3].split("/"))
            steps = STEPS[len(STEPS) * (number - 1) // count:len(STEPS) * number // count]
            for _ in range(2 if number > 1 else 0):  # diff takes two
                user.run(f"perfleet record -q -g -- {xz(user)} > /dev/null")
        elif sys.argv[2:]:
            steps = [function for function in STEPS if function.__name__ in sys.argv[2:]]
        for function in steps:
            begin = time.monotonic()
            try:
                function(user)
                outcome = "ok"
            except (Failed, subprocess.TimeoutExpired, KeyError, ValueError, StopIteration) as error:
                failed += 1
                outcome = f"FAILED: {type(error).__name__}: {error}"
            print(f"{function.__name__} ({time.monotonic() - begin:.1f} s): {outcome}", flush=True)
    finally:
        user.close()
    print(f"{len(steps)} steps, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
