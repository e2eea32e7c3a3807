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

UNITS = ["perfleet-gateway", "perfleet-collector"]
# What `systemd-analyze security` may find at most, of 10.0; a plain service has 9.6.
EXPOSURE_MAX = {"perfleet-gateway": 1.5, "perfleet-collector": 3.2}
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


def check_commented_settings(program, config, problems):
    """What is proposed in comments is right, too."""
    with open(config, encoding="utf-8") as file:
        text = re.sub(r"^#(?=[a-z-]+ = )", "", file.read(), flags=re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as all_settings:
        all_settings.write(text)
        all_settings.flush()
        checked = run(program, "--config", all_settings.name, "--check-config")
        if checked.returncode:
            problems.append(f"{program}: a setting in a comment: {checked.stderr}")


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

    # Every option of the unit is known to the program, and the program finds no fault in its config.
    command = shlex.split(directives["ExecStart"][0])
    program = os.path.join(root, "bin", name)
    config = os.path.join(root, "etc/perfleet", name + ".toml")
    if command[:3] != [program, "--config", config]:
        problems.append(f"{name}: ExecStart={command}")
    known = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", run(program, "--help").stdout))
    for word in command[1:]:
        if word.startswith("-") and word not in known:
            problems.append(f"{name}: the program knows no {word}")
    checked = run(program, "--config", config, "--check-config")
    if checked.returncode:
        problems.append(f"{name}: --check-config: {checked.stderr}")
    check_commented_settings(program, config, problems)
    with open(os.path.join(root, "lib/sysusers.d", name + ".conf"), encoding="utf-8") as file:
        if directives.get("User") != [name] or f"\nu {name} " not in file.read():
            problems.append(f"{name}: User={directives.get('User')} isn't that of sysusers.d")
    documentation = directives["Documentation"][0].split("file:")[1]
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
            for name in UNITS:
                path = os.path.join(root, "etc/perfleet", name + ".toml")
                with open(path, "a", encoding="utf-8") as file:
                    file.write("# mine\n")
        for name in UNITS:
            check_unit(root, name, problems)
            with open(os.path.join(root, "etc/perfleet", name + ".toml"), encoding="utf-8") as file:
                if file.read().count("# mine\n") != 2:
                    problems.append(f"{name}.toml: what an administrator wrote was lost at the second installation")
    finally:
        shutil.rmtree(root)
    print("\n".join(problems + [f"{len(UNITS)} units, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
