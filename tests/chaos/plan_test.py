#!/usr/bin/env python3
"""Plans follow from their seed, and every fault occurs."""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import faults  # noqa: E402
from plan import plan_of  # noqa: E402


class Plans(unittest.TestCase):
    def test_the_same_seed_gives_the_same_plan(self):
        for cycle in range(50):
            self.assertEqual(plan_of(5, cycle), plan_of(5, cycle))

    def test_the_same_seed_gives_the_same_plan_in_another_process(self):
        command = [sys.executable, os.path.join(HERE, "run"), "--plan", "--cycles", "3", "--seed", "9"]
        first = subprocess.run(command, check=True, capture_output=True, env={"PYTHONHASHSEED": "1"})
        second = subprocess.run(command, check=True, capture_output=True, env={"PYTHONHASHSEED": "2"})
        self.assertEqual(first.stdout, second.stdout)

    def test_other_seeds_and_cycles_give_other_plans(self):
        plans = {json.dumps(plan_of(seed, cycle) | {"seed": 0, "cycle": 0}) for seed in range(5) for cycle in range(20)}
        self.assertEqual(len(plans), 100)

    def test_every_fault_comes_about(self):
        names = {fault["fault"] for cycle in range(100) for fault in plan_of(1, cycle)["faults"]}
        self.assertEqual(names, set(faults.ALL))

    def test_faults_can_be_chosen(self):
        for cycle in range(20):
            for fault in plan_of(1, cycle, ["ConnectionCut", "BytesHeld"])["faults"]:
                self.assertIn(fault["fault"], ["ConnectionCut", "BytesHeld"])

    def test_a_broken_store_stands_on_a_disk_that_loses_power(self):
        for cycle in range(20):
            plan = plan_of(1, cycle, None, "ack-before-sync")
            self.assertEqual((plan["gateway"], plan["break"]), ("faulty", "ack-before-sync"))


if __name__ == "__main__":
    unittest.main()
