#!/usr/bin/env python3
"""Plants sources that need a host beside the core and shows that the freestanding check refuses them by name."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_freestanding.py")

VIOLATIONS = {
    "malloc": ('#include <cstdlib>\nvoid* take() { return std::malloc(8); }\n', "malloc"),
    "operator new": ("int* make() { return new int(1); }\n", "_Znwm"),
    "a destructor at exit": ("struct S { ~S(); int* p; };\nS::~S() { *p = 1; }\nS global;\n", "__cxa_atexit"),
    "exceptions": ("void fail() { throw 1; }\n", "exception"),
    "a library function": ('#include <cstring>\nunsigned long n(const char* s) { return std::strlen(s); }\n', "strlen"),
}


def check(architecture, text, *options):
    with tempfile.TemporaryDirectory(prefix="perfleet-freestanding-") as folder:
        planted = os.path.join(folder, "planted.cpp")
        with open(planted, "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run([sys.executable, "-B", CHECKER, "--arch", architecture, "--sources-only", "--extra",
                               planted, *options], capture_output=True, text=True, check=False)


class FreestandingTest(unittest.TestCase):
    def test_accepts_a_harmless_source(self):
        answer = check("x86_64", "int one() { return 1; }\n", "--extra-only")
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)

    def test_refuses_each_violation_naming_symbol_and_source(self):
        for name, (text, word) in VIOLATIONS.items():
            with self.subTest(name):
                answer = check("x86_64", text, "--extra-only")
                self.assertEqual(answer.returncode, 1, answer.stdout + answer.stderr)
                self.assertIn(word, answer.stdout)
                self.assertIn("planted.cpp", answer.stdout)

    def test_refuses_on_aarch64(self):
        answer = check("aarch64", VIOLATIONS["malloc"][0], "--extra-only")
        self.assertEqual(answer.returncode, 1, answer.stdout + answer.stderr)
        self.assertIn("'malloc'", answer.stdout)


if __name__ == "__main__":
    unittest.main()
