"""The cost of a program: processor time of it and of all children that it has waited for, its peak memory, its BPF programs."""
import os
import re
import subprocess
import sys
import tempfile
import threading
import time


class Ran:
    def __init__(self, cpu_s, peak_mib, wall_s, text, bpf_s):
        self.cpu_s = cpu_s
        self.peak_mib = peak_mib
        self.wall_s = wall_s
        self.text = text
        self.bpf_s = bpf_s


def bpf_run_time_s(pid):
    """Of the BPF programs that the process has open; 0 unless kernel.bpf_stats_enabled is set."""
    found = {}
    try:
        for name in os.listdir(f"/proc/{pid}/fdinfo"):
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                text = file.read()
            if match := re.search(r"^prog_id:\s+(\d+)", text, re.MULTILINE):
                found[match.group(1)] = int(re.search(r"^run_time_ns:\s+(\d+)", text, re.MULTILINE).group(1))
    except (OSError, AttributeError):
        pass
    return sum(found.values()) / 1e9


class BpfWatch(threading.Thread):
    """Keeps the largest run time that was seen: a program has closed its BPF programs when it ends."""
    EVERY_S = 0.25

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.most_s = 0.0
        self.is_over = threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(self.EVERY_S):
            self.most_s = max(self.most_s, bpf_run_time_s(self.pid))

    def end(self):
        self.is_over.set()
        self.join()
        return self.most_s


def run(arguments, stdout=subprocess.DEVNULL, status=0):
    """Runs to the end. `text` is its standard error."""
    with tempfile.TemporaryFile(mode="w+", errors="replace") as errors:
        began = time.monotonic()
        process = subprocess.Popen([str(word) for word in arguments], stdout=stdout, stderr=errors, stdin=subprocess.DEVNULL)
        watch = BpfWatch(process.pid)
        _, ended, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
        bpf_s = watch.end()
        process.returncode = os.waitstatus_to_exitcode(ended)
        errors.seek(0)
        text = errors.read()
    if process.returncode != status:
        sys.exit(f"{' '.join(map(str, arguments))}\nended with {process.returncode}:\n{text}")
    return Ran(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, wall_s, text, bpf_s)


def output_of(arguments):
    words = [str(word) for word in arguments]
    ran = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(words)}\nended with {ran.returncode}:\n{ran.stderr}")
    return ran.stdout


class BpfStatistics:
    """kernel.bpf_stats_enabled is 1 while the context lasts, if that may be set."""
    PATH = "/proc/sys/kernel/bpf_stats_enabled"

    def __enter__(self):
        self.before = None
        try:
            with open(self.PATH, encoding="ascii") as file:
                before = file.read()
            with open(self.PATH, "w", encoding="ascii") as file:
                file.write("1")
            self.before = before
        except OSError:
            print("the run time of BPF programs isn't counted: kernel.bpf_stats_enabled can't be set", file=sys.stderr)
        return self

    def __exit__(self, *_):
        if self.before is not None:
            with open(self.PATH, "w", encoding="ascii") as file:
                file.write(self.before)
