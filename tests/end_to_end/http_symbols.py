#!/usr/bin/env python3
"""Symbols of a gateway by debuginfod's protocol, asked for by debuginfod-find and gdb, and read by perf.

http_symbols.py BIN_DIR: programs are recorded and then stripped; names and lines come from what the collector sent.
Exit status 1 when an answer differs.
"""
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from http_interfaces import Gateway, check, failures


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


def build_id(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path).stdout).group(1)


class Upstream(http.server.BaseHTTPRequestHandler):
    """A server that has what the gateway redirects to."""
    asked = []

    def do_GET(self):
        Upstream.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "8")
        self.end_headers()
        self.wfile.write(b"upstream")

    def log_message(self, *_):
        pass


class Programs:
    """Recorded ones, stripped since; whole ones are in `whole`."""

    def __init__(self, gateway, workloads):
        self.ids, self.paths, self.whole = {}, {}, {}
        for name, workload, argument in (("one", "shares_workload", "0.2"), ("apart", "getppid_workload", "1000000"),
                                         ("bare", "shares_workload", "0.2")):
            path, whole = (os.path.join(gateway.folder, part) for part in (name, name + ".whole"))
            shutil.copy(os.path.join(workloads, workload), path)
            if name == "bare":
                with open(path, "r+b") as file:  # another build-id
                    bytes_ = file.read().replace(bytes.fromhex(build_id(path)), bytes(range(len(build_id(path)) // 2)))
                    file.seek(0)
                    file.write(bytes_)
            shutil.copy(path, whole)
            if name == "apart":
                run("objcopy", "--only-keep-debug", path, path + ".debug", check=True)
                run("objcopy", "--strip-all", "--add-gnu-debuglink=" + path + ".debug", path, check=True)
            elif name == "bare":
                run("strip", path, check=True)
            gateway.perfleet("record", "-q", "--data", gateway.data, "--target", "here", "-e", "cpu-clock", "-F", "499", "-g",
                             "--", path, argument)
            if name == "one":
                run("strip", path, check=True)
            if os.path.exists(path + ".debug"):
                os.unlink(path + ".debug")
            self.ids[name], self.paths[name], self.whole[name] = build_id(path), path, whole

    def section(self, name, section):
        path = os.path.join(os.path.dirname(self.whole[name]), "section")
        run("objcopy", "--dump-section", f"{section}={path}", self.whole[name], "/dev/null", check=True)
        with open(path, "rb") as file:
            return file.read()


def environment(gateway, **more):
    cache = tempfile.mkdtemp(dir=gateway.folder)
    return {**os.environ, "DEBUGINFOD_URLS": gateway.http, "DEBUGINFOD_CACHE_PATH": cache, "HOME": gateway.folder, **more}


def check_find(gateway, programs):
    for name in ("one", "apart"):
        found = run("debuginfod-find", "debuginfo", programs.ids[name], env=environment(gateway))
        check(found.returncode == 0, f"debuginfod-find debuginfo of {name}: {found}")
        symbols, expected = (run("nm", "-C", path).stdout for path in (found.stdout.strip(), programs.whole[name]))
        names = [set(re.findall(r"^(\w+) [tT] (.+)$", text, re.MULTILINE)) for text in (symbols, expected)]
        check("main" in {name for _, name in names[0]} and names[0] == names[1], f"symbols of {name}: {names[0] ^ names[1]}")
        lines = [run("readelf", "--debug-dump=decodedline", path) for path in (found.stdout.strip(), programs.whole[name])]
        check(len(lines[0].stdout) > 1000 and lines[0].stdout.split("\n")[2:] == lines[1].stdout.split("\n")[2:] and
              "arning" not in lines[0].stderr, f"lines of {name}: {lines[0].stderr[:500]}")
        section = run("debuginfod-find", "section", programs.ids[name], ".debug_line", env=environment(gateway))
        check(section.returncode == 0, f"debuginfod-find section: {section}")
        with open(section.stdout.strip(), "rb") as file:
            check(file.read() == programs.section(name, ".debug_line"), f"bytes of .debug_line of {name}")
    large = run("debuginfod-find", "debuginfo", programs.ids["one"], env=environment(gateway, DEBUGINFOD_MAXSIZE="1000"))
    check(large.returncode != 0 and "too large" in large.stderr, f"a limit of the client: {large}")
    for kind in (["executable"], ["source", "/usr/src/a b.c"]):
        found = run("debuginfod-find", kind[0], programs.ids["one"], *kind[1:], env=environment(gateway))
        check(found.returncode == 0, f"redirected: {found}")
        with open(found.stdout.strip()) as file:
            check(file.read() == "upstream", f"content of a redirected {kind}")
    check([path.split("/", 3)[3] for path in Upstream.asked] == ["executable", "source/usr/src/a%20b.c"], f"asked upstream: {Upstream.asked}")


def check_debuggers(gateway, programs):
    for name, function in (("one", "main"), ("apart", "main")):
        text = run("gdb", "-batch", "-nx", "-iex", "set debuginfod enabled on", "-ex", f"info symbol {function}", "-ex",
                   f"info line {function}", programs.paths[name], env=environment(gateway))
        check(f"{function} in section .text" in text.stdout and "workload.cpp" in text.stdout and "warning" not in text.stderr,
              f"gdb on {name}: {text.stdout} {text.stderr}")
        address = re.search(r"^(\w+) T main$", run("nm", programs.whole[name]).stdout, re.MULTILINE).group(1)
        lines = [run("eu-addr2line", "-f", "-e", path, "0x" + address, env=environment(gateway)).stdout
                 for path in (programs.paths[name], programs.whole[name])]
        check("workload.cpp:" in lines[0] and lines[0] == lines[1], f"eu-addr2line of {name}: {lines}")


def check_perf(gateway, programs):
    """perf reads the file from its build-id cache."""
    found = run("debuginfod-find", "debuginfo", programs.ids["one"], env=environment(gateway)).stdout.strip()
    data, cache = (os.path.join(gateway.folder, part) for part in ("perf.data", "perf-cache"))
    folder = os.path.join(cache, ".build-id", programs.ids["one"][:2], programs.ids["one"][2:])
    os.makedirs(folder)
    recorded = run("perf", "record", "-q", "-N", "-e", "cpu-clock", "-o", data, "--", programs.paths["one"], "0.2")
    if recorded.returncode != 0:
        print("perf can't record here:", recorded.stderr[:200])
        return
    report = ["perf", "--buildid-dir", cache, "report", "-i", data, "--stdio", "--sort", "symbol"]
    functions = r"\[\.\] (?!0x)(\w+)"
    before = re.findall(functions, run(*report).stdout)
    shutil.copy(found, os.path.join(folder, "debug"))
    shutil.copy(programs.paths["one"], os.path.join(folder, "elf"))
    after = re.findall(functions, run(*report).stdout)
    known = run("nm", "-C", programs.whole["one"]).stdout
    check(any(re.search(rf" {name}\b", known) for name in set(after) - set(before)), f"perf before {before}, after {after}")


def check_requests(gateway, programs):
    here = programs.ids["one"]
    status, headers, body = gateway.get(f"/buildid/{here}/debuginfo")
    check(status == 200 and headers["X-DEBUGINFOD-SIZE"] == str(len(body)) and headers["X-DEBUGINFOD-FILE"] == here + ".debug" and
          headers["X-DEBUGINFOD-ARCHIVE"] is None and body.startswith(b"\x7fELF"), f"debuginfo: {status} {headers}")
    head = gateway.get(f"/buildid/{here}/debuginfo", method="HEAD")
    check(head[0] == 200 and head[1]["X-DEBUGINFOD-SIZE"] == str(len(body)) and head[2] == b"", f"HEAD: {head}")
    check(gateway.get(f"/buildid/{here}/debuginfo", {"X-DEBUGINFOD-MAXSIZE": str(len(body) - 1)})[0] == 406, "a limit")
    check(gateway.get(f"/buildid/{here}/debuginfo", method="POST", body=b"")[0] == 405, "POST")
    for path in (here.upper() + "/debuginfo", here[:-1] + "/debuginfo", here + "/nothing", here + "/", "../debuginfo", "/debuginfo",
                 here + "/section", here + "/section/.nothing", here + "/section/.text", here + "/section/..%2f..%2fetc%2fpasswd", "%00/debuginfo"):
        status = gateway.get("/buildid/" + path)[0]
        check(status in (404, 400 if "%00" in path else 404), f"{path}: {status}")


def main():
    bin_dir = sys.argv[1]
    workloads = os.path.join(os.path.dirname(bin_dir), "test-bin")
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="perfleet-symbols-") as folder:
        gateway = Gateway(bin_dir, folder)
        programs = Programs(gateway, workloads)
        gateway.start("--http-debuginfod-upstream", f"http://127.0.0.1:{upstream.server_port}")
        try:
            check_find(gateway, programs)
            check_debuggers(gateway, programs)
            check_perf(gateway, programs)
        finally:
            gateway.stop()
        gateway.start()
        try:
            check_requests(gateway, programs)
            # A file with dynamic symbols only isn't better than the program itself, and unknown builds aren't there.
            for wanted in (programs.ids["bare"], "00" * 20):
                check(gateway.get(f"/buildid/{wanted}/debuginfo")[0] == 404, f"debuginfo of {wanted}")
            check(gateway.get(f"/buildid/{programs.ids['one']}/executable")[0] == 404, "executable")
        finally:
            gateway.stop()
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
