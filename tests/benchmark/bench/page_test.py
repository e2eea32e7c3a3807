#!/usr/bin/env python3
"""The page of figures equals the raw runs, and its statistics are right."""
import json
import os
import sys
import unittest

import page
from figures import FIGURES

HERE = os.path.dirname(os.path.abspath(__file__))


class FigureOfARun(unittest.TestCase):
    def test_is_the_ratio_of_medians(self):
        at, low, high = page.figure_of({"ours": [2.0, 4.0, 9.0], "peer": [1.0, 2.0, 3.0]})
        self.assertEqual(at, 2.0)
        self.assertLessEqual(low, 2.0)
        self.assertGreaterEqual(high, 2.0)

    def test_has_no_interval_without_repetition(self):
        self.assertEqual(page.figure_of({"ours": [3.0]}), (3.0, None, None))

    def test_interval_holds_pairs_together(self):
        at, low, high = page.figure_of({"ours": [1.0, 10.0, 100.0], "peer": [2.0, 20.0, 200.0]})
        self.assertEqual((at, low, high), (0.5, 0.5, 0.5))


class Verdict(unittest.TestCase):
    def test_is_by_the_goal(self):
        self.assertIn("| reached |", page.row_of("start", {"ours": [0.2], "peer": [0.2]}))
        self.assertIn("| **missed** |", page.row_of("start", {"ours": [0.3], "peer": [0.2]}))


class Page(unittest.TestCase):
    def test_has_a_row_for_each_figure(self):
        run = {"ours": [2.0, 2.0], "peer": [1.0, 1.0]}
        bench = {"date": "2026-01-02", "commit": "abc", "machine": "one", "rounds": 2, "seconds": 1, "load_average": "0.1",
                 "runs": {name: run if figure.peer else {"ours": [2.0]} for name, figure in FIGURES.items()}}
        text = page.render(bench)
        self.assertNotIn("@table", text)
        self.assertIn("Measured 2026-01-02 on one,\ncommit abc", text)
        for figure in FIGURES.values():
            self.assertIn(f"| {figure.what} | **2", text)

    def test_in_the_documents_is_of_the_raw_runs(self):
        docs = os.path.join(HERE, *[os.pardir] * 3, "docs")
        with open(os.path.join(docs, "bench.json"), encoding="utf-8") as runs, \
                open(os.path.join(docs, "benchmarks.md"), encoding="utf-8") as text:
            self.assertEqual(page.section_of(text.read())[1], page.render(json.load(runs)))


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    unittest.main()
