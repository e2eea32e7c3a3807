"""What is known from outside of perfleet-collector, run after run on one target: traced_log.h describes the folder."""
import os
import shutil

CALLS_PER_RUN = 1_000_000_000
ENDING = ".spool"


class Traced:
    def __init__(self, folder, spool):
        self.folder = folder
        self._spool = spool  # folder; None: the collector keeps its batches in memory
        self._run = 0
        self._calls = 0
        self._kept_count = 0
        self._powerless = set()  # files of sessions whose disk has lost power
        os.makedirs(folder)

    def command_of_run(self, run, program, calls, duration_ms):
        """What the collector starts and traces."""
        self._run = run
        self._calls = calls
        counted = os.path.join(self.folder, f"begun.{run}")
        with open(counted, "wb") as file:
            file.write(bytes(8))
        return [program, counted, str(run * CALLS_PER_RUN + 1), str(calls), str(duration_ms)]

    def has_begun(self):
        """Whether the workload is at work."""
        with open(os.path.join(self.folder, f"begun.{self._run}"), "rb") as file:
            return any(file.read())

    def note_finished(self):
        """The run went to its end."""
        with open(os.path.join(self.folder, "finished"), "a", encoding="ascii") as file:
            file.write(f"{self._run} {self._calls}\n")

    def keep_spool(self):
        """Nobody uses the spool now."""
        if self._spool is None:
            return
        self._kept_count += 1
        os.makedirs(os.path.join(self.folder, f"kept.{self._kept_count}"))
        for name in self.sessions_in_spool():
            since = "kept-since-power-loss" if name in self._powerless else "kept"
            kept = os.path.join(self.folder, f"{since}.{self._kept_count}")
            os.makedirs(kept, exist_ok=True)
            shutil.copyfile(os.path.join(self._spool, name), os.path.join(kept, name))

    def sessions_in_spool(self):
        """Names of their files."""
        if self._spool is None or not os.path.isdir(self._spool):
            return []
        return sorted(name for name in os.listdir(self._spool) if name.endswith(ENDING))

    def note_power_lost(self):
        """The spool's disk may forget something of every session in it. Whether there is one."""
        sessions = self.sessions_in_spool()
        self._powerless.update(sessions)
        with open(os.path.join(self.folder, "power-lost"), "a", encoding="ascii") as file:
            file.writelines(name.removesuffix(ENDING) + "\n" for name in sessions)
        return bool(sessions)
