#!/usr/bin/env python3
"""What tests/mutation/run makes of a line, and that its places are right."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).with_name("run")
LOADER = importlib.machinery.SourceFileLoader("mutation_run", str(PATH))
SPEC = importlib.util.spec_from_loader("mutation_run", LOADER)
run = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(run)


def after(line):
    return sorted(mutant.after.strip() for mutant in run.mutants_of("a.cpp", "    " + line))


class Mutants(unittest.TestCase):
    def test_each_operator_makes_its_own(self):
        self.assertEqual(after("return a < b;"), ["return a <= b;"])
        self.assertEqual(after("if (a >= b && !c) {"),
                         ["if (!(a >= b && !c)) {", "if (a > b && !c) {", "if (a >= b || !c) {"])
        self.assertEqual(after("if (!is_open()) {"), ["if (is_open()) {"])
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
        (mutant,) = run.mutants_of("a.cpp", text)
        self.assertEqual((mutant.line, mutant.after), (2, '    return g("< b", a <= b);  // a < b'))

    def test_the_seed_chooses(self):
        for module in run.MODULES:
            self.assertTrue(list((run.ROOT / module).glob("*.cpp")), module)
        for module in ("storage/clock", "storage/key"):
            options = type("Options", (), {"module": [module], "at": [], "seed": 1, "number": 5})
            self.assertEqual(len(run.chosen_mutants(options)), 5, module)
            self.assertEqual(list(map(str, run.chosen_mutants(options))), list(map(str, run.chosen_mutants(options))))


if __name__ == "__main__":
    unittest.main()
