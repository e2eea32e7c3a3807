#!/usr/bin/env python3
"""Plants a violation of each rule in a small tree and shows that the checker names its file and line."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_documents.py")
PROGRAMS = ["perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"]

LONG = "word " * 21
SOUND_TREE = {
    "README.md": "# It\n[guide](docs/guide.md#the-first---step) ![picture](docs/it.png) [here](#it)\n"
                 "[there](https://example.org/nowhere) `[code](nowhere.md)`\n",
    "docs/guide.md": f"## The `first` - step\n| {LONG} |\n```\n{LONG} [no link](nowhere.md)\n```\n{'x' * 120}\n",
    "docs/it.png": "",
    "gateway/README.md": f"{LONG}\n",
}
VIOLATIONS = {
    "a long line": ({"docs/guide.md": f"## The first - step\n\n{LONG}\n"}, "docs/guide.md:3:", "wrap at 100"),
    "a long line behind a code block": ({"README.md": f"```\n{LONG}\n```\n{LONG}\n"}, "README.md:4:", "wrap at 100"),
    "a link to no file": ({"gateway/README.md": "\n[x](../docs/nothing.md)\n"}, "gateway/README.md:2:", "leads nowhere"),
    "a picture that isn't there": ({"README.md": "![x](docs/nothing.png)\n"}, "README.md:1:", "leads nowhere"),
    "a link to no heading": ({"README.md": "[x](docs/guide.md#second)\n"}, "README.md:1:", "no such heading"),
    "a phrase that was given up": ({"README.md": "Sessions are\nput off.\n"}, "README.md:2:", "deferred"),
    "the same over two lines": ({"gateway/README.md": "\nIt is put\noff.\n"}, "gateway/README.md:2:", "deferred"),
}


class Documents(unittest.TestCase):
    def check(self, changes, helps=None):
        """helps: {program or 'program command': text}"""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**SOUND_TREE, **changes}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            arguments = ["--root", root]
            if helps is not None:
                arguments += ["--programs", root]
                for program in PROGRAMS:
                    with open(os.path.join(root, program), "w", encoding="utf-8") as file:
                        file.write("#!/bin/sh\ncase \"$1\" in\n")
                        for command, text in helps.items():
                            if command.split()[0] == program:
                                pattern = (command.split() + ["--help"])[1]
                                file.write(f"{pattern}) cat <<'TEXT'\n{text}\nTEXT\n;;\n")
                        file.write("esac\n")
                    os.chmod(os.path.join(root, program), 0o755)
            done = subprocess.run([sys.executable, "-B", CHECKER, *arguments], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_a_tree_that_keeps_the_rules_passes(self):
        self.assertEqual(self.check({}), (0, "3 documents, 0 helps\n"))

    def test_each_violation_is_named(self):
        for what, (changes, place, word) in VIOLATIONS.items():
            with self.subTest(what):
                status, text = self.check(changes)
                self.assertEqual(status, 1, text)
                self.assertIn(place, text)
                self.assertIn(word, text)
                self.assertEqual(len(text.splitlines()), 2, text)

    def test_help_of_programs_and_their_commands_is_read(self):
        helps = {"perfleet": "It.\n\nSubcommands:\n  top, report    First\n                 and so on\n  two-words      Second\n\nEnd",
                 "perfleet top": "sound", "perfleet two-words": "for those who ask"}
        status, text = self.check({}, helps)
        self.assertEqual(status, 1, text)
        self.assertIn("perfleet two-words --help:1: 'those who ask' was given up", text)
        self.assertIn("3 documents, 6 helps", text)
        self.assertEqual(self.check({}, {**helps, "perfleet two-words": "sound"}), (0, "3 documents, 6 helps\n"))


if __name__ == "__main__":
    unittest.main()
