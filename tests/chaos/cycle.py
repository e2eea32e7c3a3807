"""One cycle: a plan, done to a world, and the verdict."""
import json
import os
import signal
import threading
import time

import faults
from world import Failure, Source, World

COMPACTED_FILE = "compacted"  # in a cycle's folder: of how many batches' blocks the store had compacted


class Cycle:
    def __init__(self, plan, folder, build):
        self._plan = plan
        self._folder = folder
        self._problems = []
        self._world = World(folder, build, plan)
        self._world.drop_partitions = self._drop_partitions
        self._world.replay = self._replay

    def run(self):
        """What is wrong, in words; empty when everything is right."""
        try:
            self._play()
            if not self._problems:
                self._judge()
        except Failure as failure:
            self._problems.append(str(failure))
        finally:
            self._world.close()
        return self._problems

    def _play(self):
        world = self._world
        world.gateway.start()
        for source in world.sources:
            source.start()
        for source in world.sources:
            source.wait_until_at_work()
        start = time.monotonic()
        lanes = {}
        for fault in self._plan["faults"]:
            lanes.setdefault(faults.ALL[fault["fault"]].lane, []).append(fault)
        threads = [threading.Thread(target=self._play_lane, args=(start, lane)) for lane in lanes.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        world.heal()
        if self._problems:
            return
        if world.gateway.process is None:
            world.gateway.start()
        for source in world.sources:
            source.wait()
        if self._plan["impostor"]:
            self._send_impostor()
        if world.gateway.disk:  # the very last acknowledgement is a promise, too
            world.gateway.disk.set("lose=all")
            world.gateway.end(signal.SIGKILL)
            world.gateway.start()
        status = world.gateway.end(signal.SIGTERM)
        if status != 0:
            self._problems.append(f"the gateway's stop ended with {status}: {world.gateway.said()}")

    def _play_lane(self, start, lane):
        for fault in lane:
            time.sleep(max(0, start + fault["at_ms"] / 1000 - time.monotonic()))
            try:
                faults.ALL[fault["fault"]].run(self._world, fault)
            except Failure as failure:
                self._problems.append(f"{failure} (after {fault['fault']})")
                return

    def _check_as_gateway(self, what):
        gateway = self._world.gateway
        command = [self._world.test_bin("chaos_check"), "--data", gateway.data, what]
        if gateway.disk:
            return self._world.run(command + ["--faulty"], gateway.disk.environment())
        return self._world.run(command)

    def _drop_partitions(self):
        status, output = self._check_as_gateway("--drop")
        if status != 0:
            raise Failure(f"partitions can't be dropped: {output}")
        self._world.dropped_buckets.update(int(line) for line in output.split())

    def _replay(self, source, seed, key_name):
        if not source.can_be_spoken_for:
            return
        world = self._world
        command = [world.test_bin("chaos_replay"), "--capture", source.capture, "--seed", str(seed)]
        command += ["--gateway", f"tcp://127.0.0.1:{world.side_door.port}"]
        command += world.keys.options_of(key_name) if world.keys else []
        world.run(command)

    @staticmethod
    def _is_finished(source, name):
        with open(os.path.join(source.logs, name), encoding="ascii") as file:
            return file.read().endswith("end finished\n")

    def _send_impostor(self):
        """A session id that is met again, by a collector that describes itself otherwise."""
        source = next((source for source in self._world.sources if source.can_be_spoken_for), None)
        if source is None:
            return
        session = next(name.removesuffix(".log") for name in os.listdir(source.logs) if self._is_finished(source, name))
        self._world.impostor_logs = self._world.path("impostor.logs")
        os.makedirs(self._world.impostor_logs)
        source.page.set_clock(-1234)
        source.start(rows=500, session=session, logs=self._world.impostor_logs)
        source.wait()

    def _judge(self):
        world = self._world
        # Later data must be as right: each batch is sent again, and everything is compacted that can be.
        status, output = self._check_as_gateway("--go-on")
        if status != 0:
            self._problems += output.strip().splitlines()
        command = [world.test_bin("chaos_check"), "--data", world.gateway.data]
        for source in world.sources:
            command += source.check_options()
        if world.impostor_logs is not None:
            for name in sorted(os.listdir(world.impostor_logs)):
                command += ["--impostor", os.path.join(world.impostor_logs, name)]
        for bucket in sorted(world.dropped_buckets):
            command += ["--dropped", str(bucket)]
        status, output = world.run(command)
        lines = output.strip().splitlines()
        if status != 0:
            self._problems += lines[:-1] if lines[-1].startswith("stored=") else lines
        else:
            totals = dict(field.split("=") for field in lines[-1].split())
            with open(world.path(COMPACTED_FILE), "w", encoding="ascii") as file:
                file.write(totals.pop("compacted"))
            self._ask_perfleet(totals)

    def _ask_perfleet(self, totals):
        """A second check: the ledger that users see."""
        status, output = self._world.run(
            [self._world.bin("perfleet"), "losses", "--data", self._world.gateway.data, "--format", "json"]
        )
        if status != 0:
            self._problems.append(f"perfleet losses: {output}")
            return
        answer = json.loads(output)
        ledger = answer["ledger"]
        for name, count in totals.items():
            if ledger[name] != int(count):
                self._problems.append(f"perfleet losses says {name} {ledger[name]}, the store has {count}")
        pending = answer["columns"].index({"name": "pending", "unit": "rows"})
        sum_of_all = ledger["stored"] + ledger["expired"] + sum(ledger["lost"].values())
        sum_of_all += sum(row[pending] for row in answer["rows"])
        # Only what a disk forgot with the power may be missing.
        may_miss = any(source.has_lost_power for source in self._world.sources)
        if ledger["produced"] != sum_of_all or ("missing" in ledger["lost"] and not may_miss):
            self._problems.append(f"perfleet losses doesn't add up: {ledger}")


def run_cycle(plan, folder, build):
    os.makedirs(folder)
    with open(os.path.join(folder, "plan.json"), "w", encoding="ascii") as file:
        json.dump(plan, file, indent=1)
    return Cycle(plan, folder, build).run()
