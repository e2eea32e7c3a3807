"""The state of the disk below a spool folder at a loss of power.

A program that was killed leaves all it wrote in the page cache. What the disk has is older: a file as of its last sync
(chaos_world.so records which that was), with those pages newer that the kernel wrote back by itself. Names that no sync of
the folder covered may be missing, and files that were taken away since may be there again.
"""
import os
import random
import threading

PAGE_SIZE = 4096
SECTOR_SIZE = 512
ENDING = ".spool"
UNFINISHED_ENDING = ".spool.new"


def read_or_none(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def mix(into, newer, unit, share, rng):
    """Each unit becomes the newer one with this probability."""
    for at in range(0, min(len(into), len(newer)), unit):
        end = at + unit
        if into[at:end] != newer[at:end] and rng.random() < share:
            into[at:end] = newer[at:end]


class SpoolDisk:
    def __init__(self, folder, synced):
        self._folder = folder
        self.synced = synced  # where chaos_world.so puts what was synced
        self._lock = threading.Lock()
        self._files = {}  # name: (time of the sync, bytes)
        self._names = []
        os.makedirs(synced)

    def write_back(self, share, seed):
        """The kernel writes some of the pages back that aren't."""
        rng = random.Random(seed)
        with self._lock:
            self._take_synced()
            for name, (_, content) in sorted(self._files.items()):
                live = read_or_none(os.path.join(self._folder, name))
                if live is not None:
                    mix(content, live, PAGE_SIZE, share, rng)

    def cut_power(self, lose, seed):
        """The folder becomes what is left of it; nobody uses it now. `lose`: what no sync covered: all of it, or some
        pages or sectors."""
        rng = random.Random(seed)
        with self._lock:
            self._take_synced()
            live = set(os.listdir(self._folder)) if os.path.isdir(self._folder) else set()
            for name in sorted(live):
                if name.endswith(UNFINISHED_ENDING) or (name.endswith(ENDING) and name not in self._files):
                    os.unlink(os.path.join(self._folder, name))
            for name, (_, content) in sorted(self._files.items()):
                self._write(name, content, name in live, lose, rng)

    def _write(self, name, content, is_live, lose, rng):
        path = os.path.join(self._folder, name)
        if is_live and lose != "all":
            mix(content, read_or_none(path), PAGE_SIZE if lose == "pages" else SECTOR_SIZE, 0.5, rng)
        has_name = name in self._names
        if is_live and not has_name:  # its name may not have come to the disk, or still be the one before
            path = rng.choice([path, os.path.join(self._folder, name.replace(ENDING, UNFINISHED_ENDING)), None])
            os.unlink(os.path.join(self._folder, name))
        elif not is_live and not (has_name and rng.random() < 0.5):  # taken away, for good or not
            path = None
        if path is not None:
            with open(path, "wb", opener=lambda place, flags: os.open(place, flags, 0o600)) as file:
                file.write(content)

    def _take_synced(self):
        for name in os.listdir(self.synced):
            path = os.path.join(self.synced, name)
            if name == "names":
                with open(path, encoding="ascii") as file:
                    self._names = file.read().split()
            elif name.endswith((ENDING, UNFINISHED_ENDING)):
                name = name.replace(UNFINISHED_ENDING, ENDING)
                time_ns = os.stat(path).st_mtime_ns
                if name not in self._files or self._files[name][0] != time_ns:
                    self._files[name] = (time_ns, bytearray(read_or_none(path)))
