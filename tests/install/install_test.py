#!/usr/bin/env python3
"""Installs a build into an empty folder and shows that what users get is all there and starts from there."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

DOCUMENTS = ["share/doc/perfleet/LICENSE", "share/doc/perfleet/README.md", "share/doc/perfleet/operations.md",
             "lib/systemd/system/perfleet-gateway.service", "lib/systemd/system/perfleet-collector.service",
             "lib/sysusers.d/perfleet-gateway.conf", "lib/sysusers.d/perfleet-collector.conf",
             "lib/tmpfiles.d/perfleet-gateway.conf",
             "etc/perfleet/perfleet-gateway.toml", "etc/perfleet/perfleet-collector.toml"]


C_PROGRAM = """#include <perfleet/probe.h>
PERFLEET_TRACE_NAME(1, "mine");
int main(void) { PERFLEET_TRACE_START(1); PERFLEET_TRACE_STOP(1); return 0; }
"""
CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(mine C CXX)
find_package(perfleet-probe REQUIRED)
add_executable(mine mine.cpp)
target_link_libraries(mine perfleet::probe)
"""


def probe_problems(prefix, folder):
    """Builds programs with probes against what is installed, as their users do: by pkg-config and by CMake."""
    problems = []

    def works(what, words, **more):
        answer = subprocess.run(words, capture_output=True, text=True, check=False, **more)
        if answer.returncode:
            problems.append(f"{what}: {answer.stdout}{answer.stderr}")
        return answer.stdout.split() if not answer.returncode else None

    for name in ("mine.c", "mine.cpp"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(C_PROGRAM)
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(CMAKE_PROJECT)
    packages = {**os.environ, "PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}
    flags = works("pkg-config", ["pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "perfleet-probe"],
                  env=packages)
    program = os.path.join(folder, "mine")
    for compiler, source in (("gcc -std=c11", "mine.c"), ("g++ -std=c++20", "mine.cpp")):
        if flags and works(compiler, [*compiler.split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", program,
                                      os.path.join(folder, source), *flags]) is not None:
            works(source, [program])
    works("find_package", ["cmake", "-S", folder, "-B", os.path.join(folder, "build"), f"-DCMAKE_PREFIX_PATH={prefix}"])
    works("find_package", ["cmake", "--build", os.path.join(folder, "build")])
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--version", required=True, help="what every program must answer to --version")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()

    problems = []
    stage = tempfile.mkdtemp(prefix="perfleet-install-")
    try:
        # Both ways of installing elsewhere: DESTDIR as packagers use it, before an absolute prefix.
        environment = {**os.environ, "DESTDIR": stage}
        answer = subprocess.run([arguments.cmake, "--install", arguments.build, "--prefix", "/opt/perfleet"],
                                env=environment, capture_output=True, text=True, check=False)
        if answer.returncode:
            print(answer.stdout + answer.stderr)
            return 1
        prefix = os.path.join(stage, "opt", "perfleet")
        found = sorted(os.path.relpath(os.path.join(folder, name), prefix)
                       for folder, _, names in os.walk(prefix) for name in names)
        for path in DOCUMENTS:
            if path not in found:
                problems.append(f"{path} is not installed")
        installed = sorted(os.path.basename(path) for path in found if os.path.dirname(path) == "bin")
        if installed != sorted(arguments.programs):
            problems.append(f"bin holds {installed}, not {sorted(arguments.programs)}")
        commits = set()
        for name in installed:
            answer = subprocess.run([os.path.join(prefix, "bin", name), "--version"], cwd=stage, timeout=60,
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            line = re.fullmatch(re.escape(f"{name} {arguments.version}") + r"( \([0-9a-f]{12}\))?\n", answer.stdout)
            if answer.returncode or not line:
                problems.append(f"{name} --version: exit {answer.returncode}, '{answer.stdout}{answer.stderr}'")
            else:
                commits.add(line.group(1))
        if len(commits) > 1:
            problems.append(f"programs of several commits: {commits}")
        problems += probe_problems(prefix, tempfile.mkdtemp(dir=stage))
    finally:
        shutil.rmtree(stage)
    print("\n".join(problems + [f"{len(found)} files installed, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
