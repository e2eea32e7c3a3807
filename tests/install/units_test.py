#!/usr/bin/env python3
"""Installs a build into an empty folder and shows that the units of systemd are right: systemd itself finds no fault and
nothing exposed, the programs know every option, and what an administrator has changed stays."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

UNITS = {"perfleet-gateway": "gateway.env", "perfleet-collector": "collector.env"}
# What `systemd-analyze security` may find at most, of 10.0; a plain service has 9.6.
EXPOSURE_MAX = {"perfleet-gateway": 1.5, "perfleet-collector": 3.0}
DIRECTIVES = {"Type": "notify", "Restart": "on-failure", "StartLimitIntervalSec": "0", "DynamicUser": "yes",
              "NoNewPrivileges": "yes", "ProtectSystem": "strict", "MemoryDenyWriteExecute": "yes", "SystemCallArchitectures": "native"}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL,
                          **options)


def directives_of(path):
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r"(\w+)=(.*)", line)
            if match:
                found.setdefault(match.group(1), []).append(match.group(2))
    return found


def check_unit(root, name, problems):
    unit = os.path.join(root, "lib/systemd/system", f"{name}.service")
    directives = directives_of(unit)
    with open(unit, encoding="utf-8") as file:
        if "@" in re.sub(r"@(system-service|privileged|resources)\b", "", file.read()):
            problems.append(f"{name}: a placeholder is left")
    for key, value in DIRECTIVES.items():
        if directives.get(key) != [value]:
            problems.append(f"{name}: {key}={directives.get(key)}, not {value}")
    for key in ("MemoryMax", "TasksMax", "LimitNOFILE", "SystemCallFilter", "CapabilityBoundingSet", "TimeoutStopSec"):
        if key not in directives:
            problems.append(f"{name}: no {key}")

    verified = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit)
    if verified.returncode or name in verified.stderr:
        problems.append(f"{name}: systemd-analyze verify: exit {verified.returncode}: {verified.stderr}")
    secured = run("systemd-analyze", "security", "--offline=true", unit)
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", secured.stdout)
    if not exposure:
        problems.append(f"{name}: systemd-analyze security: {secured.stdout}{secured.stderr}")
    elif float(exposure.group(1)) > EXPOSURE_MAX[name]:
        problems.append(f"{name}: exposure {exposure.group(1)}, more than {EXPOSURE_MAX[name]}")

    # Every option, in the unit and in its file of options, is one that the program knows.
    options = directives_of(os.path.join(root, "etc/perfleet", UNITS[name]))
    command = shlex.split(directives["ExecStart"][0])
    if command[0] != os.path.join(root, "bin", name):
        problems.append(f"{name}: ExecStart={command[0]}")
    variable = command[-1].lstrip("$")
    if directives.get("EnvironmentFile") != [f"-{root}/etc/perfleet/{UNITS[name]}"] or list(options) != [variable]:
        problems.append(f"{name}: EnvironmentFile={directives.get('EnvironmentFile')} sets {list(options)}")
    help_text = run(os.path.join(root, "bin", name), "--help").stdout
    known = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", help_text))
    for word in command[1:] + shlex.split(" ".join(options.get(variable, []))):
        if word.startswith("-") and word not in known:
            problems.append(f"{name}: the program knows no {word}")
    documentation = directives["Documentation"][0].removeprefix("file:")
    if not os.path.isfile(documentation):
        problems.append(f"{name}: no {documentation}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    if shutil.which("systemd-analyze") is None:
        print("systemd-analyze is missing: run tools/setup")
        return 1
    problems = []
    root = tempfile.mkdtemp(prefix="perfleet-units-")
    try:
        for _ in range(2):
            answer = run(arguments.cmake, "--install", arguments.build, "--prefix", root)
            if answer.returncode:
                print(answer.stdout + answer.stderr)
                return 1
            for name in UNITS.values():
                path = os.path.join(root, "etc/perfleet", name)
                with open(path, "a", encoding="utf-8") as file:
                    file.write("# mine\n")
        for name, options in UNITS.items():
            check_unit(root, name, problems)
            with open(os.path.join(root, "etc/perfleet", options), encoding="utf-8") as file:
                if file.read().count("# mine\n") != 2:
                    problems.append(f"{options}: what an administrator wrote was lost at the second installation")
    finally:
        shutil.rmtree(root)
    print("\n".join(problems + [f"{len(UNITS)} units, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
