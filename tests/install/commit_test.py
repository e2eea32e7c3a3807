#!/usr/bin/env python3
"""Which commit cmake/PerfleetCommit.cmake finds: in a git checkout, in the files of git archive, in a copy, and where it is given.

usage: commit_test.py --cmake CMAKE --source DIR
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

FILES = [".commit", ".gitattributes", "cmake/PerfleetCommit.cmake", "daemon/command-line/version.cpp.in"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    problems = []
    place = tempfile.mkdtemp(prefix="perfleet-commit-")
    output = os.path.join(place, "version.cpp")
    # Of no user's configuration, and of no repository around this test.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"HOME": place, "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*words, **more):
        return subprocess.run(words, check=True, env=environment, **more)

    def git(folder, *words):
        return run("git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@test", *words, capture_output=True, text=True).stdout.strip()

    def commit(folder):
        git(folder, "commit", "--quiet", "--allow-empty", "--message", "test: a commit")
        return git(folder, "rev-parse", "HEAD")[:12]

    def copied(name):
        folder = os.path.join(place, name)
        for file in FILES:
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            shutil.copy(os.path.join(arguments.source, file), os.path.join(folder, file))
        return folder

    def expect(what, folder, suffix, given=""):
        """What version_line() adds to the name of a program."""
        run(arguments.cmake, f"-DSOURCE={folder}", "-DPERFLEET_VERSION=1.2.3-dev", f"-DPERFLEET_COMMIT={given}", f"-DOUTPUT={output}",
            "-P", os.path.join(folder, "cmake/PerfleetCommit.cmake"))
        with open(output, encoding="utf-8") as file:
            text = file.read()
        if f'" 1.2.3-dev{suffix}"' not in text:
            problems.append(f"{what}: not '1.2.3-dev{suffix}' but\n{text}")
        return os.stat(output).st_mtime_ns

    try:
        checkout = copied("checkout")
        git(checkout, "init", "--quiet")
        git(checkout, "add", "--all")
        first = commit(checkout)
        written = expect("a checkout", checkout, f" ({first})")
        if expect("the same checkout", checkout, f" ({first})") != written:
            problems.append("the source is written again without a new commit")
        second = commit(checkout)
        expect("a new commit", checkout, f" ({second})")
        expect("a given commit", checkout, " (0123456789ab)", given="0123456789abcdef0123456789abcdef01234567")
        expect("a given word", checkout, "", given="unknown")

        archived = os.path.join(checkout, "archived")  # within the checkout: a third commit would be that of others
        os.mkdir(archived)
        with open(os.path.join(place, "tar"), "wb") as file:
            run("git", "-C", checkout, "archive", "HEAD", stdout=file)
        run("tar", "-x", "-f", os.path.join(place, "tar"), "-C", archived)
        commit(checkout)
        expect("the files of git archive", archived, f" ({second})")

        copy = copied("copy")
        expect("a copy without .git", copy, "")
        with open(os.path.join(copy, ".commit"), "w", encoding="utf-8") as file:
            file.write("89abcdef01234567\n")
        expect("a copy with its own .commit", copy, " (89abcdef0123)")
    finally:
        shutil.rmtree(place)
    print("\n".join(problems + [f"{len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
