#!/usr/bin/env python3
"""The mutants of a line, their places, and that a program runs as the mutant that MUTANT names."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PATH = pathlib.Path(__file__).with_name("run")
sys.path.insert(0, str(PATH.parent))
import mutants  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("mutation_run", str(PATH))
SPEC = importlib.util.spec_from_loader("mutation_run", LOADER)
run = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(run)

# Prints the result of each line; the mutants of a line are named by their replacement.
PROGRAM = '''#include <algorithm>
#include <cstdio>
#include <vector>
std::vector<int> list{1, 2, 2, 5};
bool is_seven(int a) {
    return a == 7 &&
           a < 10;
}
int main() {
    int count = 0;
    const std::size_t low = static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), 2) - list.begin());
    if (!list.empty()) {
        ++count;
    }
    std::printf("%zu %d %d %d\\n",
                low, count, is_seven(7) ? 1 : 0, std::max(list.front(), 3));
}
'''
EXPECTED = {
    "return a != 7 &&": "1 1 0 3", "return a == 7 ||": "1 1 1 3", "a <= 10;": "1 1 1 3",
    "if (!(!list.empty())) {": "1 0 1 3", ";": "1 0 1 3", "int count = 1;": "1 2 1 3",
    "is_seven(7) ? 1 : 1": "1 1 1 3", "+ list.begin()": "1 1 1 3",  # the latter makes no sense
    "upper_bound": "3 1 1 3", "std::min(list.front(), 3)": "1 1 1 1", "std::max(list.back(), 3)": "1 1 1 5",
}


def after(line):
    return sorted(mutant.after.strip() for mutant in mutants.mutants_of("a.cpp", "    " + line))


class Mutants(unittest.TestCase):
    def test_each_operator_makes_its_own(self):
        self.assertEqual(after("return a < b;"), ["return a <= b;"])
        self.assertEqual(after("if (a >= b && !c) {"),
                         ["if (!(a >= b && !c)) {", "if (a > b && !c) {", "if (a >= b || !c) {"])
        self.assertEqual(after("if (!is_open()) {"), ["if (!(!is_open())) {"])
        self.assertEqual(after("return true;"), ["return false;"])
        self.assertEqual(after("const auto last = size - 1;"),
                         ["const auto last = size + 1;", "const auto last = size - 2;", "const auto last = size;"])
        self.assertEqual(after("counts.add(reason);"), [";"])
        self.assertEqual(after("++count;"), [";"])
        self.assertEqual(after("return std::min(at, end);"), ["return std::max(at, end);"])
        self.assertEqual(after("return list.front();"), ["return list.back();"])

    def test_what_is_no_code_stays(self):
        for line in ("// a < b", '#include "a.h"', "std::vector<int> list;",
                     "static_assert(a < b);", "PERFLEET_ASSERT(a < b);", "return list->size();"):
            self.assertEqual(after(line), [], line)
        self.assertEqual(after('return text + " < " + std::to_string(size);'), [])

    def test_only_the_place_changes(self):
        text = 'int f() {\n    return g("< b", a < b);  // a < b\n}\n'
        (mutant,) = mutants.mutants_of("a.cpp", text)
        self.assertEqual((mutant.line, mutant.after), (2, '    return g("< b", a <= b);  // a < b'))

    def test_the_seed_chooses(self):
        for module in run.MODULES:
            self.assertTrue(list((run.ROOT / module).glob("*.cpp")), module)
        everything = run.all_mutants(["storage/clock", "storage/key"])
        options = type("Options", (), {"at": [], "seed": 1, "number": 5})
        self.assertEqual([run.module_of(everything[number]) for number in run.chosen(everything, options)],
                         5 * ["storage/clock"] + 5 * ["storage/key"])
        alone = run.all_mutants(["storage/key"])
        self.assertEqual([str(everything[number]) for number in run.chosen(everything, options)[5:]],
                         [str(alone[number]) for number in run.chosen(alone, options)])
        self.assertEqual(run.chosen(everything, options), run.chosen(everything, options))

    def test_a_program_runs_as_the_mutant_that_it_is_told(self):
        numbered = list(enumerate(mutants.mutants_of("a.cpp", PROGRAM), 1))
        made, not_made = mutants.with_mutants(PROGRAM, numbered)
        self.assertEqual(not_made, set())
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.cpp"
            source.write_text(made)
            program = source.with_suffix("")
            subprocess.run(["c++", "-std=c++20", "-w", str(source), "-o", str(program)], check=True)

            def printed(number, **more):
                return subprocess.run([program], check=True, capture_output=True, text=True,
                                      env=dict(os.environ, MUTANT=str(number), **more)).stdout.strip()

            self.assertEqual(printed(0), "1 1 1 3")
            for number, mutant in numbered:
                line = mutant.after.strip()
                (expected,) = [result for part, result in EXPECTED.items() if part == line or (part != ";" and part in line)]
                self.assertEqual(printed(number), expected, str(mutant))
            reached = pathlib.Path(folder) / "reached"
            reached.write_bytes(bytes(mutants.REACHED_SIZE))
            printed(0, MUTANTS_REACHED=str(reached))
            marks = reached.read_bytes()
            self.assertEqual([mutant.new for number, mutant in numbered if marks[number] == 0], ["1"])  # of ": 0"
            self.assertEqual([mutant.new for number, mutant in numbered if marks[number] == 2], ["+"])


if __name__ == "__main__":
    unittest.main()
