"""What runs in the guest of tests/kernels/run: perfleet on the guest's kernel, as a user at a shell runs it, and unit tests
of what depends on the kernel.

checks.py BIN_DIR FOLDER MODULES [NAME…]: prints a line a check; exit status 1 when one fails, 2 when there is no check
NAME. Logs of unit tests go to FOLDER; MODULES is the folder of the kernel's modules. The guest is slow: limits are for
commands that hang.
"""
import ctypes
import fnmatch
import json
import os
import platform
import re
import struct
import subprocess
import sys
import time

COMMAND_LIMIT_S = 300
TEST_LIMIT_S = 900
IS_ARM = platform.machine() == "aarch64"
# Unit tests that the host's kernel may skip.
UNIT_TESTS = {"source_linux_test": "OffCpu*:FunctionTracer*"}


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class Guest:
    def __init__(self, programs, folder, modules):
        self.programs, self.modules = programs, modules
        self.folder = "/tmp/perfleet"
        os.makedirs(self.folder)
        self.output = folder
        os.environ.update(HOME=self.folder, PATH=programs + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", PERFLEET_PAGER="cat")
        with open(self.path("input"), "wb") as file:
            file.write(b"".join(b"%d perfleet\n" % (i * i) for i in range(60_000)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, line, status=0, limit_s=COMMAND_LIMIT_S):
        """Its output and messages. `status` None: any."""
        try:
            done = subprocess.run(["sh", "-c", line], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{line}: not done after {limit_s} s:\n{(late.stdout or b'')[-1000:]}\n{(late.stderr or b'')[-1000:]}") from None
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        check(status is None or done.returncode == status, f"{line}: exit status {done.returncode}:\n{out[-2000:]}{err[-2000:]}")
        return out, err

    def rows(self, line):
        answer = json.loads(self.run(f"perfleet {line} --format json")[0])
        names = [column["name"] for column in answer["columns"]]
        return [dict(zip(names, row)) for row in answer["rows"]]

    def share_of(self, line, is_one, column="self_samples"):
        """The share of the rows for which `is_one` holds, by weight."""
        rows = self.rows(line)
        whole = sum(row[column] for row in rows)
        check(whole > 0, f"{line}: no rows")
        return sum(row[column] for row in rows if is_one(row)) / whole

    def folded(self, options=""):
        """Stacks from the outermost frame in, with their weights."""
        stacks = []
        for line in self.run(f"perfleet export --to folded -o - {options}")[0].splitlines():
            stack, _, weight = line.rpartition(" ")
            stacks.append((stack.split(";"), int(weight)))
        return stacks

    def share_of_stacks(self, is_one, options="", among=""):
        """Among those with a frame whose name has that part."""
        stacks = [(stack, weight) for stack, weight in self.folded(options) if any(among in frame for frame in stack)]
        return sum(weight for stack, weight in stacks if is_one(stack)) / max(1, sum(weight for _, weight in stacks))

    def whole_share(self, options=""):
        """Of the stacks those that reach the program's entry."""
        return self.share_of_stacks(lambda stack: any("_start" in frame for frame in stack), options)


def calls_in(histogram):
    """How many calls the text of `latency --no-rows` shows."""
    return sum(int(found) for found in re.findall(r"-> \d+ *: (\d+)", histogram))


# bpf(2) and what of linux/bpf.h is needed.
SYS_BPF = 280 if IS_ARM else 321
BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID, BPF_OBJ_GET_INFO_BY_FD = 11, 13, 15
INFO_BYTES, NAME_AT, VERIFIED_AT = 232, 64, 216


def verified_instructions():
    """BPF programs that are loaded, by name: how many instructions the verifier has gone through."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bpf(command, attributes):
        return libc.syscall(SYS_BPF, command, attributes, len(attributes))

    found, at = {}, 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("=II", at, 0), 64)
        if bpf(BPF_PROG_GET_NEXT_ID, attributes) != 0:
            return found
        at = struct.unpack_from("=I", attributes, 4)[0]
        fd = bpf(BPF_PROG_GET_FD_BY_ID, ctypes.create_string_buffer(struct.pack("=I", at), 64))
        info = ctypes.create_string_buffer(INFO_BYTES)
        if fd >= 0:
            bpf(BPF_OBJ_GET_INFO_BY_FD, ctypes.create_string_buffer(struct.pack("=IIQ", fd, INFO_BYTES, ctypes.addressof(info)), 64))
            os.close(fd)
            found[info.raw[NAME_AT:NAME_AT + 16].rstrip(b"\0").decode()] = struct.unpack_from("=I", info, VERIFIED_AT)[0]


CHECKS = []


def kernel_check(function):
    CHECKS.append(function)
    return function


XZ = "xz -T1 -k -c -1 input"


# --- Samples and call chains

@kernel_check
def record_g_unwinds_by_bpf(guest):
    _, err = guest.run(f"perfleet record -g -- {XZ} > x.xz && xz -t x.xz")
    check("unwound by BPF" in err, err)
    whole = guest.whole_share()
    check(whole > 0.9, f"{whole:.2f} of the stacks reach the program's entry:\n{err}")


@kernel_check
def call_graphs(guest):
    for mode, least in (("bpf", 0.9), ("dwarf", 0.9), ("fp", 0), ("auto", 0.9)):
        guest.run(f"perfleet record -q --call-graph {mode} -- {XZ} > /dev/null")
        whole = guest.whole_share()
        print(f"    {mode}: {whole:.2f} whole")
        check(whole >= least, f"{mode}: {whole:.2f} of the stacks reach the program's entry")


@kernel_check
def whole_machine(guest):
    guest.run("yes > /dev/null & p=$!; perfleet record -q -a -g --duration 3; s=$?; kill $p; exit $s")
    named = guest.share_of("top --image '[kernel.kallsyms]'", lambda row: not row["symbol"].startswith("["))
    check(named > 0.95, f"{named:.2f} of the kernel's samples have names")
    commands = {row["command"] for row in guest.rows("top --by command")}
    check("yes" in commands, commands)


@kernel_check
def kernel_functions_are_those_of_perf(guest):
    """Of the same file, as perf resolves it with this kernel's kallsyms."""
    guest.run("perfleet record -q -g -o same.data -- dd if=/dev/zero of=/dev/null bs=512 count=20000 status=none")
    ours = {row["symbol"] for row in guest.rows("top --image '[kernel.kallsyms]'") if row["self_samples"] > 0}
    theirs, _ = guest.run("perf report -i same.data --stdio --no-children -g none --sort sym,dso 2>/dev/null | grep kernel")
    theirs = {line.split("[k] ")[1].split()[0] for line in theirs.splitlines() if "[k] " in line}
    missing = {name for name in ours if not name.startswith("[")} - theirs
    check(len(ours) > 3 and len(missing) <= len(ours) / 20, f"perf has no {missing} in {theirs}")


@kernel_check
def python_functions(guest):
    with open(guest.path("frames.py"), "w") as file:
        file.write("import time\ndef leaf(n):\n    s = 0\n    for i in range(n): s += i * i\n    return s\n"
                   "def recurse(n):\n    return leaf(3000) if n == 0 else recurse(n - 1)\n"
                   "def main():\n    end = time.process_time() + 3\n    while time.process_time() < end: recurse(10)\nmain()\n")
    guest.run("perfleet record -q -g -- python3 frames.py")
    # Not of the interpreter's start and end, which take half the time in a slow guest.
    whole = guest.share_of_stacks(lambda stack: sum("recurse (" in frame for frame in stack) == 11 and any("main (" in frame for frame in stack),
                                  among="_PyRun_SimpleFile")
    check(whole > 0.8, f"{whole:.2f} of the stacks have all Python functions:\n{guest.folded()[:3]}")


@kernel_check
def short_processes(guest):
    """They are unwound without copies, as their files are known after the first process."""
    guest.run("head -c 30000 input > little; perfleet record -q --data short -F 999 -g -- "
              "sh -c 'for i in $(seq 300); do gzip -9 < little > /dev/null; done'")
    losses = json.loads(guest.run("perfleet losses --data short --format json")[0])
    names = [column["name"] for column in losses["columns"]]
    counts = dict(zip(names, next(row for row in losses["rows"] if row[names.index("kind")] == "sample")))
    print(f"    {counts['stacks_copied']} of {counts['stored']} stacks copied")
    check(counts["stacks_copied"] * 8 < counts["stored"], counts)


@kernel_check
def a_tracepoint(guest):
    guest.run("perfleet record -q -e sched:sched_switch -- sh -c 'for i in 1 2 3 4 5; do sleep 0.1; done'")
    rows = guest.rows("tracepoints --session last")
    check(sum(row["rows"] for row in rows) >= 5, rows)
    guest.run("perfleet record -q -g -e sched:sched_switch -- sleep 0.1")
    check(any("schedule" in frame for stack, _ in guest.folded("--event sched:sched_switch") for frame in stack), "no chain")


@kernel_check
def off_the_cpu(guest):
    _, err = guest.run("perfleet record -g --off-cpu -- sleep 1")
    rows = guest.rows("top --off-cpu")
    blocked = sum(row["blocked"] for row in rows) / 1e6
    check(990 <= blocked < 20_000, f"{blocked} ms blocked\n{err}")
    text = guest.run("perfleet flamegraph --text --off-cpu")[0]
    check("nanosleep" in text, f"no nanosleep:\n{text}")
    check(not {"__schedule", "schedule"} & {row["symbol"] for row in rows}, "frames of the scheduler")
    whole = guest.whole_share("--off-cpu")
    check(whole > 0.9, f"{whole:.2f} of the stacks are whole")
    waker = guest.rows("top --event wakeup-time --by command,symbol")
    print(f"    {err.strip()} wakers: {[row['symbol'] for row in waker]}")


@kernel_check
def off_the_cpu_of_the_whole_machine(guest):
    guest.run("(while sleep 0.05; do :; done) & p=$!; perfleet record -q -a -g --off-cpu --duration 3; s=$?; kill $p; exit $s")
    check(any(row["command"] == "sleep" for row in guest.rows("top --off-cpu")), "nobody slept")


@kernel_check
def user_space_alone(guest):
    guest.run(f"perfleet record -q -g --all-user -- {XZ} > /dev/null")
    check(not [row for row in guest.rows("top --by image") if "kernel" in row["image"]], "samples of the kernel")
    guest.run("perfleet record -q -g --all-kernel -- dd if=/dev/zero of=/dev/null bs=512 count=20000 status=none")
    share = guest.share_of("top --by image", lambda row: "kernel" in row["image"] or row["image"].startswith("["))
    check(share > 0.99, f"{share:.2f} of the samples are of the kernel")


@kernel_check
def periods_with_jitter_and_a_budget(guest):
    guest.run(f"perfleet record -q -e cpu-clock -c 1000000 --jitter 25 -- {XZ} > /dev/null")
    check(guest.rows("top"), "no rows")
    _, err = guest.run("yes > /dev/null & p=$!; perfleet-collector -a -g -F 999 --cpu-budget 0.1 --duration 5 --output budget.rows; "
                       "s=$?; kill $p; exit $s")
    print(f"    {' '.join(err.split())[:600]}")


@kernel_check
def programs_are_within_the_verifiers_limit(guest):
    """A million instructions; other kernels go through more of them."""
    with subprocess.Popen(["perfleet", "record", "-q", "-a", "-g", "--off-cpu"], cwd=guest.folder, stderr=subprocess.DEVNULL) as recording, \
         subprocess.Popen(["perfleet", "latency", "--function", "kernel:vfs_read", "-a", "--follow", "--no-rows"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as timing:
        counts, end = {}, time.monotonic() + COMMAND_LIMIT_S
        while not {"unwind_sample", "on_switch", "on_entry"} <= counts.keys() and time.monotonic() < end:
            time.sleep(1)
            counts = verified_instructions()
        for process in (recording, timing):
            process.terminate()
    print(f"    {counts}")
    check({"unwind_sample", "on_switch", "on_entry"} <= counts.keys() and max(counts.values()) < 250_000, counts)


# --- Modules

@kernel_check
def functions_of_a_module(guest):
    """Samples of a hash that a module computes have the module's function names, as in perf."""
    kernel_root = guest.modules.split("/lib/modules/")[0]
    for module in ("algif_hash", "sha3_generic"):
        guest.run(f"modprobe -d {kernel_root} {module}")
    with open(guest.path("hash.py"), "w") as file:
        file.write("import socket, time\ns = socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)\ns.bind(('hash', 'sha3-512'))\n"
                   "end = time.process_time() + 3\nwhile time.process_time() < end:\n    o, _ = s.accept()\n    o.sendall(b'x' * 65536)\n    o.recv(64)\n    o.close()\n")
    guest.run("perfleet record -q -g -o module.data -- python3 hash.py")
    rows = [row for row in guest.rows("top") if row["image"] == "[sha3_generic]"]
    check(sum(row["self_samples"] for row in rows) > 100 and any("sha3" in row["symbol"] for row in rows), rows or guest.rows("top --by image"))
    theirs, _ = guest.run("perf report -i module.data --stdio --no-children -g none --sort sym,dso 2>/dev/null | grep sha3")
    check("crypto_sha3_update" in theirs, theirs)


# --- Counters, probes, functions

@kernel_check
def counting(guest):
    out, err = guest.run(f"perfleet stat -- {XZ} > /dev/null")
    check("task-clock" in out + err, out + err)
    out, err = guest.run(f"perfleet stat -r 3 -e page-faults,context-switches,task-clock -- {XZ} 2>&1 >/dev/null")
    check("page-faults" in out + err, out + err)


@kernel_check
def events_of_the_processor(guest):
    """A PMU is there in QEMU's AArch64 machine alone; elsewhere the message says what to record instead."""
    has_counter = os.uname().machine == "aarch64"
    _, err = guest.run(f"perfleet record -g -e cycles -- {XZ} > /dev/null", status=0 if has_counter else 1)
    if has_counter:
        check(guest.rows("top --session last"), err)
    else:
        check("-e cycles: not supported" in err and "-e cpu-clock" in err, err)
    for events in ("cycles,instructions", "'{cycles,instructions}'"):
        out, err = guest.run(f"perfleet stat -e {events} -- {XZ} 2>&1 > /dev/null")
        counted = re.search(r"^cycles +(\S+)", out, re.M)
        check(counted and (counted[1] != "-") == has_counter, out + err)


@kernel_check
def probes_of_perf(guest):
    guest.run("perf probe -q -d 'probe*:*'", status=None)
    guest.run("perf probe -q --add vfs_read && perfleet record -q -g -e probe:vfs_read -- dd if=/dev/zero of=/dev/null bs=512 count=300 status=none")
    rows = guest.rows("tracepoints --session last")
    check(300 <= sum(row["rows"] for row in rows) < 400, rows)
    guest.run("perf probe -q -d 'probe:*'")


@kernel_check
def times_of_functions(guest):
    out, err = guest.run("perfleet latency --function libc:read -- dd if=/dev/zero of=/dev/null bs=512 count=300 status=none")
    count = int(re.search(r"(\d+) produced", out + err).group(1))
    check(300 <= count < 400, out + err)


@kernel_check
def times_of_kernel_functions(guest):
    command = "dd if=/dev/zero of=/dev/null bs=512 count=300 status=none"
    for options in ("--format json", "--no-rows"):
        out, err = guest.run(f"perfleet latency --function kernel:vfs_read {options} -- {command}")
        if options == "--no-rows":
            count = calls_in(out)
        else:
            answer = json.loads(out)
            names = [column["name"] for column in answer["columns"]]
            count = sum(dict(zip(names, row))["count"] for row in answer["rows"])
        check(300 <= count < 400, f"{count} calls:\n{out}{err}")
    check("didn't return" not in err, err)
    out, err = guest.run(f"perfleet latency --function kernel:no_such_function -- {command}", status=None)
    check("no function 'no_such_function'" in err, err)
    out, err = guest.run(f"perfleet latency --function kernel:vfs_read --no-rows -a -- {command}")
    check(calls_in(out) >= 300, out + err)


@kernel_check
def many_threads_within_a_kernel_function(guest):
    """More threads block in a function than the kernel follows to their return by default."""
    with open(guest.path("block.py"), "w") as file:
        file.write("import os, threading, time\nr, w = os.pipe()\nthreads = [threading.Thread(target=os.read, args=(r, 1)) for _ in range(60)]\n"
                   "for t in threads: t.start()\ntime.sleep(1)\nos.write(w, b'x' * 60)\nfor t in threads: t.join()\n")
    out, err = guest.run("perfleet latency --function kernel:pipe_read --no-rows -- python3 block.py")
    count = calls_in(out)
    check(0 < count < 60, f"{count} of 60 calls have a time")
    check(f"{60 - count} of 60 calls have no time: the kernel times at most" in " ".join(err.split()), err)


# --- What is made of it

@kernel_check
def cgroups(guest):
    os.makedirs("/sys/fs/cgroup/busy.service", exist_ok=True)
    guest.run("sh -c 'echo $$ > /sys/fs/cgroup/busy.service/cgroup.procs; exec yes' > /dev/null & p=$!; "
              "perfleet record -q -a --duration 4; s=$?; kill $p; exit $s")
    check(any("busy.service" in row["cgroup"] for row in guest.rows("top --by cgroup")), guest.rows("top --by cgroup"))


@kernel_check
def every_view(guest):
    guest.run(f"perfleet record -q -g -- {XZ} > /dev/null")
    symbol = next(row["symbol"] for row in guest.rows("top --by image,symbol") if row["image"].startswith("liblzma"))
    print(f"    {symbol}")
    for command in ("top", "tree", "tree --inverted", "script", "losses", "sessions", "flamegraph -o page.html --force",
                    "flamegraph --text", "timeline -o lines.html --force", f"annotate '{symbol}'", "counters"):
        guest.run(f"perfleet {command}", status=None if command.startswith("annotate") else 0)
    for kind in ("pprof", "speedscope", "firefox", "perfetto", "folded", "perf.data"):
        guest.run(f"perfleet export --to {kind} -o {kind} --force")
    out, _ = guest.run("perf report -i perf.data --stdio --no-children -g none 2>/dev/null")
    check("liblzma" in out, out)
    out, _ = guest.run("perf script -i perf.data 2>/dev/null | grep -c cpu-clock")
    check(int(out) == sum(row["self_samples"] for row in guest.rows("top")), out)
    kernel = next(row["symbol"] for row in guest.rows("top --image '[kernel.kallsyms]'") if not row["symbol"].startswith("["))
    out, err = guest.run(f"perfleet annotate {kernel}", status=None)
    check(f"{kernel}+0x" in out, f"{kernel}: {out[-500:]}{err}")


@kernel_check
def recordings_of_perf(guest):
    guest.run(f"perf record -q -g -o theirs.data -- {XZ} > /dev/null")
    guest.run("perfleet import theirs.data")
    check(guest.rows("top"), "no rows")


@kernel_check
def without_privilege(guest):
    guest.run("cp input /tmp/input; mkdir -p /tmp/nobody && chmod 777 /tmp/nobody")
    for paranoid in (3, 2, 1):
        guest.run(f"echo {paranoid} > /proc/sys/kernel/perf_event_paranoid")
        out, err = guest.run("cd /tmp/nobody && HOME=/tmp/nobody setpriv --reuid 65534 --regid 65534 --clear-groups "
                             "perfleet record -g --data data -- xz -T1 -k -c -1 /tmp/input > /dev/null", status=None)
        print(f"    perf_event_paranoid={paranoid}: {' '.join(err.split())[:400]}")
        check((paranoid == 3) == ("rows" not in err), err)


# --- Unit tests

def unit_tests(guest, program, pattern):
    path = os.path.join(os.path.dirname(guest.programs), "test-bin", program)
    if not os.path.exists(path):
        raise Skipped(f"{program} isn't built")
    listed, _ = guest.run(f"{path} --gtest_list_tests --gtest_filter='{pattern}'")
    suite, failed, passed, skipped = "", [], 0, 0
    for line in listed.splitlines():
        if not line.startswith(" "):
            suite = line.split("#")[0].strip()
            continue
        name = suite + line.split("#")[0].strip()
        log = os.path.join(guest.output, f"{program}.{name.replace('/', '_')}.log")
        started = time.monotonic()
        with open(log, "wb") as file:
            try:
                done = subprocess.run([path, f"--gtest_filter={name}"], cwd=guest.folder, stdin=subprocess.DEVNULL, stdout=file,
                                      stderr=subprocess.STDOUT, timeout=TEST_LIMIT_S).returncode
            except subprocess.TimeoutExpired:
                done = f"not done after {TEST_LIMIT_S} s"
        with open(log, errors="replace") as file:
            text = file.read()
        if done != 0:
            failed.append(name)
            print(f"    FAILED {name}: {done} ({time.monotonic() - started:.0f} s)", flush=True)
        elif "SKIPPED" in text:
            skipped += 1
            print(f"    skipped {name}: {' '.join(text.split('Skipped')[-1].split())[:200]}", flush=True)
        else:
            passed += 1
    print(f"    {program}: {passed} passed, {skipped} skipped, {len(failed)} failed", flush=True)
    check(not failed, f"{len(failed)} failed: {', '.join(failed)}")


def main():
    programs, folder, modules = sys.argv[1:4]
    names = sys.argv[4:]
    guest = Guest(programs, folder, modules)
    todo = [(function.__name__, lambda function=function: function(guest)) for function in CHECKS]
    todo += [(program, lambda program=program, pattern=pattern: unit_tests(guest, program, pattern)) for program, pattern in UNIT_TESTS.items()]
    if names:
        every, todo = todo, []
        for wanted in names:
            program, _, pattern = wanted.partition(":")
            found = [(wanted, lambda program=program, pattern=pattern: unit_tests(guest, program, pattern))] if pattern else \
                [(name, run) for name, run in every if fnmatch.fnmatch(name, wanted)]
            if not found:
                print(f"there is no check {wanted}; there are {' '.join(name for name, _ in every)}", flush=True)
                return 2
            todo += found
    failed = []
    for name, run in todo:
        started = time.monotonic()
        print(f"  {name}", flush=True)
        try:
            run()
            print(f"  ok {name} ({time.monotonic() - started:.0f} s)", flush=True)
        except Skipped as why:
            print(f"  skipped {name}: {why}", flush=True)
        except Exception as why:  # of the check itself, too: others run all the same
            failed.append(name)
            print(f"  FAILED {name} ({time.monotonic() - started:.0f} s): {type(why).__name__ if not isinstance(why, Failed) else ''} {str(why)[:3000]}", flush=True)
    print(f"{len(todo) - len(failed)} of {len(todo)} passed" + (f"; failed: {', '.join(failed)}" if failed else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
