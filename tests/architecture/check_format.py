#!/usr/bin/env python3
"""Runs clang-format over every C++ file of the project; prints the files to change and exits with 1 if there are any."""

import os
import shutil
import subprocess
import sys

from source_tree import cpp_files

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def main():
    program = shutil.which("clang-format-14")
    if program is None:
        print("clang-format-14 is missing: run tools/setup", file=sys.stderr)
        return 1
    files = sys.argv[1:] or cpp_files(ROOT)
    status = subprocess.run([program, "--dry-run", "-Werror", "--style=file", *files], cwd=ROOT, check=False).returncode
    print(f"{len(files)} files")
    if status:
        print("to put it right: git ls-files '*.h' '*.cpp' | xargs clang-format-14 -i")
    return 1 if status or not files else 0


if __name__ == "__main__":
    sys.exit(main())
