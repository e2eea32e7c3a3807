#!/usr/bin/env python3
"""Plants a violation of each rule in a small tree and shows that the checker names its file and line."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_documents.py")

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
}


class Documents(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**SOUND_TREE, **changes}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, "-B", CHECKER, "--root", root], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_a_tree_that_keeps_the_rules_passes(self):
        self.assertEqual(self.check({}), (0, "3 documents\n"))

    def test_each_violation_is_named(self):
        for what, (changes, place, word) in VIOLATIONS.items():
            with self.subTest(what):
                status, text = self.check(changes)
                self.assertEqual(status, 1, text)
                self.assertIn(place, text)
                self.assertIn(word, text)
                self.assertEqual(len(text.splitlines()), 2, text)


if __name__ == "__main__":
    unittest.main()
