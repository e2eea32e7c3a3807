#!/usr/bin/env python3
"""Installs a build into an empty folder and shows that what users get is all there and starts from there."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

DOCUMENTS = ["share/doc/perfleet/LICENSE", "share/doc/perfleet/README.md", "share/doc/perfleet/operations.md",
             "lib/systemd/system/perfleet-gateway.service", "lib/systemd/system/perfleet-collector.service",
             "lib/sysusers.d/perfleet-gateway.conf", "lib/sysusers.d/perfleet-collector.conf",
             "lib/tmpfiles.d/perfleet-gateway.conf",
             "etc/perfleet/perfleet-gateway.toml", "etc/perfleet/perfleet-collector.toml"]


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
        # Both ways of putting it elsewhere: DESTDIR as packagers use it, in front of an absolute prefix.
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
        for name in installed:
            answer = subprocess.run([os.path.join(prefix, "bin", name), "--version"], cwd=stage, timeout=60,
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if answer.returncode or arguments.version not in answer.stdout:
                problems.append(f"{name} --version: exit {answer.returncode}, '{answer.stdout}{answer.stderr}'")
    finally:
        shutil.rmtree(stage)
    print("\n".join(problems + [f"{len(found)} files installed, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
