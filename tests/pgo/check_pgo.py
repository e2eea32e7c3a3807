#!/usr/bin/env python3
"""Profiles for compilers, used by the compilers: go build -pgo, llvm-bolt, clang -fprofile-sample-use.

    check_pgo.py PERFLEET go|bolt|llvm-sample|branches

Each check records a program, exports its profile, and looks at what the compiler did with it. A check whose tools
aren't installed is skipped: the last line says which.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import branches

HERE = pathlib.Path(__file__).parent
HOT_SHARE = 0.02  # of a function's samples: those with less aren't hot
WORKLOAD_CPP = ["clang++-14", "-O2", "-g", "-fdebug-info-for-profiling"]


class Skip(Exception):
    pass


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(f"{program} isn't installed (tools/setup --compilers)")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def check(is_true, what):
    if not is_true:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}")


class Profile:
    """A program's recording in a store of its own."""

    def __init__(self, perfleet, folder):
        self.perfleet = perfleet
        self.data = folder / "data"

    def record(self, *command):
        run(self.perfleet, "record", "-q", "-e", "cpu-clock", "-F", 1999, "-g", "--data", self.data, "--", *command)

    def load(self, recorded):
        run(self.perfleet, "import", recorded, "--data", self.data)

    def export(self, name, to, *options):
        run(self.perfleet, "export", "--to", name, "-o", to, "--data", self.data, *options)
        return to

    def refused(self, name, to, *options):
        done = subprocess.run([self.perfleet, "export", "--to", name, "-o", to, "--data", self.data, *options],
                              capture_output=True, text=True)
        check(done.returncode != 0, f"{name} is refused: {done.stderr.strip()}")
        return done.stderr

    def hot_functions(self, image):
        """Names of functions with a good share of the image's samples, by `top`."""
        top = run(self.perfleet, "top", "--format", "csv", "--image", image, "--data", self.data).stdout.splitlines()
        columns = top[0].split(",")
        rows = [dict(zip(columns, re.findall(r'("[^"]*"|[^,]*)(?:,|$)', line))) for line in top[1:]]
        selves = {row["symbol"].strip('"'): int(row["self"]) for row in rows if row.get("self", "").isdigit()}
        return {name for name, count in selves.items() if count >= HOT_SHARE * sum(selves.values())}


# -- go -----------------------------------------------------------------------------------------------------------


def go_program():
    for path in ["/usr/lib/go-1.22/bin/go", shutil.which("go") or ""]:
        if path and os.path.exists(path):
            version = re.search(r"go1\.(\d+)", run(path, "version").stdout)
            if version and int(version[1]) >= 21:
                return path
    raise Skip("Go 1.21 or newer isn't installed (golang-1.22-go of bookworm-backports)")


class GoPackage:
    """The workload, compiled with one profile or another; other packages are compiled once, without any."""

    def __init__(self, folder):
        self.go = go_program()
        self.folder = folder
        self.environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "HOME": str(folder)}
        (folder / "go.mod").write_text("module example.com/workload\n\ngo 1.21\n")
        shutil.copy(HERE / "workload.go", folder / "main.go")
        packages = self.tool("list", "-export", "-deps",
                             "-f={{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}", ".").stdout
        (folder / "packages").write_text(re.sub(r"packagefile example.com/.*\n", "", packages))

    def tool(self, *command):
        return run(self.go, *command, cwd=self.folder, env=self.environment)

    def build(self, name, profile=None, link=()):
        """Returns the program, and what the compiler says about it."""
        said = self.tool("tool", "compile", "-p=main", "-importcfg=packages", "-m", "-d=pgodebug=1",
                         *([f"-pgoprofile={profile}"] if profile else []), "-o", f"{name}.a", "main.go")
        self.tool("tool", "link", "-importcfg=packages", *link, "-o", name, f"{name}.a")
        return self.folder / name, said.stdout + said.stderr


def check_go(perfleet, folder):
    package = GoPackage(folder)
    plain, said_without = package.build("plain")
    recording = Profile(perfleet, folder)
    recording.record(plain, 1000, folder / "runtime.pprof")
    ours = recording.export("go-pgo", folder / "ours.pgo")

    def hot_calls(said):
        return set(re.findall(r"allows inlining for call (\S+) \(cost \d+\) at \S+:(\d+:\d+) in function (\S+)", said))

    expected = hot_calls(package.build("theirs", folder / "runtime.pprof")[1])
    faster, said = package.build("faster", ours)
    check(len(expected) > 1, f"{len(expected)} calls are hot in the profile of runtime/pprof")
    found = hot_calls(said) & expected
    check(len(found) >= 0.9 * len(expected), f"{len(found)} of them are hot in ours: {sorted(hot_calls(said))}")

    def inlined(text):
        return set(re.findall(r"inlining call to (\S+)", text))

    gained = inlined(said) - inlined(said_without)
    check("weigh" in gained, f"inlined with the profile alone: {', '.join(sorted(gained))}")
    check(run(faster, 8).stdout == run(plain, 8).stdout, "the new program's output is the same")

    message = package.tool("tool", "pprof", "-raw", ours).stdout
    check("cpu/nanoseconds" in message, "its type is cpu/nanoseconds")
    check(re.search(r"main\.weigh \S+main\.go:\d+(:\d+)? s=14\b", message), "functions have their first line")

    plain.rename(folder / "elsewhere")
    again = recording.export("go-pgo", folder / "again.pgo")
    check(again.read_bytes() == ours.read_bytes(), "the store has lines of a program that is gone")

    stripped, _ = package.build("stripped", link=("-s", "-w"))
    bare = Profile(perfleet, folder / "bare")
    bare.record(stripped, 30)
    error = bare.refused("go-pgo", folder / "bare.pgo")
    check("first line of no function is known" in error, "a program without debug information is refused")


# -- bolt ---------------------------------------------------------------------------------------------------------


def built_for_bolt(folder):
    program = folder / "workload"
    run(*WORKLOAD_CPP, "-Wl,-q", HERE / "workload.cpp", "-o", program)
    return program


def check_used_by_bolt(program, profile, hot):
    """llvm-bolt-16 rewrites the program by the profile, none of which is stale, and the program still works."""
    fast = program.with_suffix(".bolt")
    said = run("llvm-bolt-16", program, "-data", profile, "-o", fast, "-reorder-blocks=ext-tsp",
               "-reorder-functions=hfsort", "-split-functions").stdout
    used = re.search(r"(\d+) out of (\d+) functions in the binary \(([\d.]+)%\) have non-empty execution profile", said)
    check(used and int(used[1]) >= len(hot), f"{len(hot)} functions are hot; bolt: {used and used[0]}")
    stale = re.search(r"(\d+) function.*(invalid|stale|does not match)", said)
    check(stale is None or int(stale[1]) == 0, f"no function's profile is stale {stale and stale[0] or ''}")
    check(run(fast, 50).stdout == run(program, 50).stdout, "the new program's output is the same")


def check_bolt(perfleet, folder):
    need("clang++-14", "llvm-bolt-16")
    program = built_for_bolt(folder)
    recording = Profile(perfleet, folder)
    recording.record(program, 60_000)
    profile = recording.export("bolt", folder / "ours.fdata", "--image", "workload")
    first, *lines = profile.read_text().splitlines()
    check(first == "no_lbr cpu-clock", first)
    counts = collections.Counter()
    for line in lines:
        counts[line.split()[1]] += int(line.split()[3])
    hot = {name for name, count in counts.items() if count >= HOT_SHARE * counts.total()}
    check("_ZL6turnedm/workload.cpp/1" in hot, f"hot functions, a local one among them: {', '.join(sorted(hot))}")
    check_used_by_bolt(program, profile, hot)

    check("--image must name" in recording.refused("bolt", folder / "x"), "a program must be named")
    stripped = folder / "stripped"
    run("strip", "-o", stripped, program)
    bare = Profile(perfleet, folder / "bare")
    bare.record(stripped, 5000)
    check("must not be stripped" in bare.refused("bolt", folder / "x", "--image", "stripped"), "nor without symbols")


# -- clang --------------------------------------------------------------------------------------------------------


def functions_with_counts(folder, profile):
    code = folder / "workload.ll"
    run(*WORKLOAD_CPP, "-S", "-emit-llvm", f"-fprofile-sample-use={profile}", HERE / "workload.cpp", "-o", code)
    text = code.read_text()
    counts = dict(re.findall(r'^(!\d+) = !{!"function_entry_count", i64 (\d+)}', text, re.MULTILINE))
    defined = re.findall(r"^define .*@(\w+)\(.* !prof (!\d+)", text, re.MULTILINE)
    remarks = run(*WORKLOAD_CPP, "-c", f"-fprofile-sample-use={profile}", "-Rpass=sample-profile-inline",
                  HERE / "workload.cpp", "-o", folder / "workload.o").stderr
    return {name for name, number in defined if number in counts}, remarks.count("to match profiling context")


def check_used_by_clang(folder, profile, hot):
    merged = folder / "merged.txt"
    run("llvm-profdata-14", "merge", "--sample", "--text", profile, "-o", merged)
    named, remark_count = functions_with_counts(folder, profile)
    found = [name for name in hot if any(name in one for one in named)]
    check(len(found) >= 0.9 * len(hot), f"{len(found)} of {len(hot)} hot functions have an entry count: {sorted(named)}")
    check(remark_count > 0, f"{remark_count} calls are inlined by the profile")
    return merged.read_text()


def check_llvm_sample(perfleet, folder):
    need("clang++-14", "llvm-profdata-14")
    program = folder / "workload"
    run(*WORKLOAD_CPP, HERE / "workload.cpp", "-o", program)
    recording = Profile(perfleet, folder)
    recording.record(program, 60_000)
    profile = recording.export("llvm-sample", folder / "ours.prof", "--image", "workload")
    hot = {re.sub(r"\(.*", "", name) for name in recording.hot_functions("workload")}
    check_used_by_clang(folder, profile, hot)

    program.rename(folder / "elsewhere")
    again = recording.export("llvm-sample", folder / "again.prof", "--image", "workload")
    check(again.read_text() == profile.read_text(), "the store has lines of a program that is gone")
    check("isn't at its path" in recording.refused("bolt", folder / "x", "--image", "workload"), "bolt needs the program")

    other = folder / "other.prof"
    other.write_text(re.sub(r"\b(main|_Z\w+):", r"\1x:", profile.read_text()))
    named, remark_count = functions_with_counts(folder, other)
    check(not named and remark_count == 0, "a profile of other names changes nothing")


# -- branches -----------------------------------------------------------------------------------------------------

PERF2BOLT = "/usr/lib/llvm-16/bin/perf2bolt"  # perf2bolt-16 takes itself for llvm-bolt


def check_branches(perfleet, folder):
    need("clang++-14", "llvm-profdata-14", "llvm-profgen-14", "llvm-bolt-16", PERF2BOLT, "objdump", "perf")
    program = built_for_bolt(folder)
    recorded = folder / "perf.data"
    inside = folder / "inside.data"
    branches.record(program, ["2"], recorded, inside)
    recording = Profile(perfleet, folder)
    recording.load(recorded)
    hot = {"main", "step", "combined", "turned"}

    # perf2bolt reads the recording itself, through perf.
    ours = recording.export("bolt", folder / "ours.pa", "--image", "workload")
    check({line[:2] for line in ours.read_text().splitlines()} == {"B ", "F "}, "branches and what ran between them")
    run(PERF2BOLT, program, "-p", ours, "-pa", "-o", folder / "ours.fdata")
    run(PERF2BOLT, program, "-p", recorded, "-o", folder / "theirs.fdata", "-ignore-build-id")
    expected = set((folder / "theirs.fdata").read_text().splitlines())
    got = set((folder / "ours.fdata").read_text().splitlines())
    check(len(expected) > 30 and got == expected, f"perf2bolt counts the same {len(expected)} branches in the recording")
    check_used_by_bolt(program, folder / "ours.fdata", hot)

    # llvm-profgen does as well. It drops stacks that look like interrupts: those that begin or end outside the program.
    recording = Profile(perfleet, folder / "inside")
    recording.load(inside)
    profile = recording.export("llvm-sample", folder / "ours.prof", "--image", "workload")
    run("llvm-profgen-14", f"--binary={program}", f"--perfdata={inside}", "--format=text",
        f"--output={folder / 'theirs.prof'}")
    expected = line_counts(folder / "theirs.prof")
    got = line_counts(profile)
    check(len(expected) > 30 and got == expected,
          f"llvm-profgen counts the same of {len(expected)} lines {sorted(expected.items() ^ got.items())}")
    check_used_by_clang(folder, profile, hot)


def line_counts(profile):
    """Counts by function, those it was inlined into, and line; without lines of code that has none."""
    counts = {}
    path = []
    for line in profile.read_text().splitlines():
        depth = len(line) - len(line.lstrip())
        if match := re.match(r" *(\S+): (\d+)(.*)$", line):
            if match[2] != "0":
                counts["/".join(path[:depth]), match[1]] = line.strip()
        elif match := re.match(r" *(?:(\S+): )?(\S+?):\d+(:\d+)?$", line):
            path = [*path[:depth], f"{match[1] or ''} {match[2]}{match[3] or ''}"]
    return {place: text for place, text in counts.items() if int(place[1].split(".")[0]) < 0x8000}


def main():
    perfleet, name = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        try:
            {"go": check_go, "bolt": check_bolt, "llvm-sample": check_llvm_sample,
             "branches": check_branches}[name](perfleet, pathlib.Path(folder))
        except Skip as skip:
            print(f"skipped: {skip}")


if __name__ == "__main__":
    main()
