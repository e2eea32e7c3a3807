#!/usr/bin/env python3
"""Plants a violation of each rule in a small tree and shows that the checker names its file and line; and what it draws."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_english.py")
PROGRAMS = ["perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"]

SHORT = "The gateway stores each batch once. "
LONG = "The gateway stores each batch" + " and each row" * 9 + ". "
SOUND_TREE = {
    # One in fifty may be long.
    "README.md": f"# Sentences of the README\n\n{SHORT * 49}{LONG}\n\n```\nwhoever runs code\n```\n",
    "gateway/sum.h": f"// {SHORT * 2}\nint sum();  // `tell()` is a call, and kWhoever a name\n",
    "gateway/sum.cpp": 'const char* kText = "the batch is stored twice";\n',
    "gateway/sum_test.cpp": 'const char* kText = "whoever reads this is a test";\n',
    "tools/sum.py": '"""Adds the rows of each batch."""\n# The result is printed.\n',
    "page/dist/page.js": "// whoever made this, it is generated\n",
}
VIOLATIONS = {
    "a phrase in a document": ({"README.md": "Sessions\nof whoever wrote them.\n"}, "README.md:2:", "the reader"),
    "the same over two lines": ({"README.md": "\nSessions are put\noff by it.\n"}, "README.md:2:", "deferred"),
    "in a comment": ({"gateway/sum.h": "int a;\n// It waits\n// for ever.\n"}, "gateway/sum.h:3:", "forever"),
    "in a comment behind code": ({"gateway/sum.h": "int a;  // there is no room\n"}, "gateway/sum.h:1:", "space"),
    "in a message": ({"gateway/sum.cpp": '\nf("the batch is put "\n  "off");\n'}, "gateway/sum.cpp:2:", "deferred"),
    "in a docstring": ({"tools/sum.py": '"""Adds rows.\n\nIt tells the sum.\n"""\n'}, "tools/sum.py:3:", "reports"),
    "in a script's comment": ({"tools/sum.sh": "true\n# no room\n"}, "tools/sum.sh:2:", "space"),
    "long documents": ({"docs/a.md": LONG}, "2 of 52 sentences of kind document", "README.md:3, docs/a.md:1"),
    "long comments": ({"gateway/a.h": f"// {LONG}\n"}, "1 of 6 sentences of kind comment", "gateway/a.h:1"),
    "long messages": ({"gateway/a.cpp": f'const char* k = "{LONG}";\n'}, "1 of 2 sentences of kind message", "gateway/a.cpp:1"),
}


class English(unittest.TestCase):
    def check(self, changes, *arguments, helps=None):
        """helps: {program or 'program command': text}"""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**SOUND_TREE, **changes}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            arguments = ["--root", root, *arguments]
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
        self.assertEqual(self.check({}), (0, "57 sentences, 0 helps\n"))

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
        status, text = self.check({}, helps=helps)
        self.assertEqual(status, 1, text)
        self.assertIn("perfleet two-words --help:1: 'those who ask' was given up", text)
        self.assertIn("6 helps", text)
        self.assertEqual(self.check({}, helps={**helps, "perfleet two-words": "sound"}), (0, "57 sentences, 6 helps\n"))

    def test_sentences_are_drawn_by_a_seed(self):
        status, text = self.check({}, "--draw", "10", "--seed", "a")
        self.assertEqual(status, 0, text)
        self.assertEqual(len(text.splitlines()), 10, text)
        self.assertEqual(self.check({}, "--draw", "10", "--seed", "a"), (0, text))
        self.assertNotEqual(self.check({}, "--draw", "10", "--seed", "b"), (0, text))
        self.assertEqual(sorted(self.check({}, "--draw", "99", "--under", "tools/")[1].splitlines()),
                         ["tools/sum.py:1: Adds the rows of each batch.", "tools/sum.py:2: The result is printed."])


if __name__ == "__main__":
    unittest.main()
