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
    "a library function": ('#include <cstring>\nunsigned long n(const char* s) { return std::strlen(s); }\n', "strlen"),
}


def check(architecture, sources):
    with tempfile.TemporaryDirectory(prefix="perfleet-freestanding-") as folder:
        command = [sys.executable, "-B", CHECKER, "--arch", architecture, "--sources-only", "--extra-only"]
        for number, text in enumerate(sources):
            os.mkdir(os.path.join(folder, str(number)))  # sources of one folder are compiled together
            command += ["--extra", os.path.join(folder, str(number), "planted.cpp")]
            with open(command[-1], "w", encoding="utf-8") as file:
                file.write(text)
        return subprocess.run(command, capture_output=True, text=True, check=False)


class FreestandingTest(unittest.TestCase):
    def test_accepts_a_harmless_source(self):
        answer = check("x86_64", ["int one() { return 1; }\n"])
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)

    def test_refuses_each_violation_naming_symbol_and_source(self):
        answer = check("x86_64", [text for text, _ in VIOLATIONS.values()])
        self.assertEqual(answer.returncode, 1, answer.stdout + answer.stderr)
        for number, (name, (_, word)) in enumerate(VIOLATIONS.items()):
            with self.subTest(name):
                self.assertRegex(answer.stdout, rf"wants '[^']*{word}[^']*' from outside: .*/{number}/planted\.cpp")

    def test_refuses_exceptions(self):
        answer = check("x86_64", ["void fail() { throw 1; }\n"])
        self.assertEqual(answer.returncode, 1, answer.stdout + answer.stderr)
        self.assertRegex(answer.stdout, "planted.cpp:1:.*exception")

    def test_refuses_on_aarch64(self):
        answer = check("aarch64", [VIOLATIONS["malloc"][0]])
        self.assertEqual(answer.returncode, 1, answer.stdout + answer.stderr)
        self.assertIn("'malloc'", answer.stdout)


if __name__ == "__main__":
    unittest.main()
