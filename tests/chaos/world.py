"""The world of one cycle: the gateway, its sources, their disks and clocks, and the network between them.

All programs are real; each runs with chaos_world.so before it (world_page.h), and every connection goes through a proxy.
"""
import asyncio
import ctypes
import mmap
import os
import queue
import signal
import struct
import subprocess
import threading
import time

from keys import Keys
from spool_disk import SpoolDisk
from traced import Traced

TIMEOUT_S = 120
START_TIMEOUT_S = 5
STOPPED_TIMEOUT_S = 0.5  # of a collector that is stopped, for its last acknowledgements


class Failure(Exception):
    """What the cycle shows to be wrong, in words."""


class Spawner(threading.Thread):
    """Starts all programs: the kernel kills them when this thread, and so the cycle, is gone."""

    def __init__(self):
        super().__init__(daemon=True)
        self._wishes = queue.Queue()
        self.start()

    def run(self):
        libc = ctypes.CDLL(None)
        cycle = os.getpid()

        def end_with_the_cycle():
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            if os.getppid() != cycle:  # gone before
                os._exit(1)

        while True:
            command, options, answer = self._wishes.get()
            try:
                answer.put(subprocess.Popen(command, preexec_fn=end_with_the_cycle, **options))
            except OSError as error:
                answer.put(error)

    def spawn(self, command, **options):
        answer = queue.Queue()
        self._wishes.put((command, options, answer))
        process = answer.get()
        if isinstance(process, OSError):
            raise process
        return process


class Page:
    """world_page.h, from the outside."""

    SIZE = 16

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(self.SIZE)
        with open(path, "r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), self.SIZE)

    def set_clock(self, offset_s):
        struct.pack_into("<q", self.bytes, 0, int(offset_s * 1e9))

    def set_syncs_hang(self, do_hang):
        struct.pack_into("<I", self.bytes, 8, do_hang)


class Disk:
    """The disk of perfleet-gateway-faulty (storage/engine/testing/faulty_disk.h): killing it takes the power from its disk, too."""

    def __init__(self, path, words):
        self.path = path
        self._always = words
        self.set("")

    def set(self, words):
        """What is wrong with it from now on, as storage/engine/testing/fault_plan.h writes it."""
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(f"{self._always} {words}")
        os.rename(self.path + ".new", self.path)

    def environment(self):
        return {"PERFLEET_FAULTS_FILE": self.path}


class Proxy:
    """One way to the gateway. Both directions can be cut after some bytes, held, or swallowed."""

    TO_GATEWAY = 0
    TO_SOURCE = 1

    def __init__(self, network):
        self._network = network
        self.upstream = None  # port; None: nobody is there
        self._connections = set()
        self._cut_after = [None, None]
        self._hold_until = [0.0, 0.0]
        self._swallow_until = [0.0, 0.0]
        self.port = network.call(self._listen())

    async def _listen(self):
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _accept(self, reader, writer):
        if self.upstream is None:
            writer.close()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.close()
            return
        connection = (writer, far_writer)
        self._connections.add(connection)
        pumps = [
            asyncio.ensure_future(self._pump(reader, far_writer, self.TO_GATEWAY, connection)),
            asyncio.ensure_future(self._pump(far_reader, writer, self.TO_SOURCE, connection)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        self._abort(connection)
        for pump in pumps:
            pump.cancel()

    def _abort(self, connection):
        self._connections.discard(connection)
        for writer in connection:
            writer.transport.abort()

    async def _pump(self, reader, writer, direction, connection):
        try:
            while True:
                data = await reader.read(65536)
                if not data:
                    return
                while time.monotonic() < self._hold_until[direction]:
                    await asyncio.sleep(0.005)
                if time.monotonic() < self._swallow_until[direction]:
                    while time.monotonic() < self._swallow_until[direction]:
                        await asyncio.sleep(0.005)
                    return  # what came is gone, and so is the connection
                cut_after = self._cut_after[direction]
                if cut_after is not None:
                    if len(data) >= cut_after:
                        self._cut_after[direction] = None
                        writer.write(data[:cut_after])
                        await writer.drain()
                        return
                    self._cut_after[direction] = cut_after - len(data)
                writer.write(data)
                await writer.drain()
        except OSError:
            return

    # From any thread.
    def cut_after(self, direction, byte_count):
        self._cut_after[direction] = byte_count

    def hold(self, direction, seconds):
        self._hold_until[direction] = time.monotonic() + seconds

    def swallow(self, direction, seconds):
        self._swallow_until[direction] = time.monotonic() + seconds

    def connections(self):
        """Those that there are now."""

        async def copy():
            return set(self._connections)

        return self._network.call(copy())

    def heal(self):
        self._cut_after = [None, None]
        self._hold_until = [0.0, 0.0]
        self._swallow_until = [0.0, 0.0]


class Network(threading.Thread):
    """The thread of all proxies."""

    def __init__(self):
        super().__init__(daemon=True)
        self._loop = asyncio.new_event_loop()
        self.start()

    def run(self):
        self._loop.run_forever()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class Gateway:
    """perfleet-gateway, or perfleet-gateway-faulty, over one folder; ended and started again."""

    def __init__(self, world, plan):
        self._world = world
        self.page = Page(world.path("gateway.page"))
        self.data = world.path("data")
        self.disk = None
        self._joining = ["--compact-batches", str(plan["join-batches"])] if plan["join-batches"] else ["--no-compaction"]
        self._program = world.bin("perfleet-gateway")
        if plan["gateway"] == "faulty":
            words = f"seed={plan['disk_seed']}" + (f" break={plan['break']}" if plan["break"] else "")
            self.disk = Disk(world.path("disk.plan"), words)
            self._program = world.test_bin("perfleet-gateway-faulty")
        self.process = None
        self.seat = 0  # which of the endpoints it serves
        self._starts = 0

    def start(self):
        self._starts += 1
        errors = open(self._world.path("gateway.err"), "ab")
        command = [self._program, "--data", self.data, "--listen", "tcp://127.0.0.1:*", "--query", "none"]
        command += ["--clock-timeout", "0"]  # nothing waits longer than a cycle takes
        command += self._joining + (self._world.keys.gateway_options() if self._world.keys else [])
        environment = self.disk.environment() if self.disk else {}
        self.process = self._world.spawn(command, self.page, environment, stdout=subprocess.PIPE, stderr=errors)
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready "):
            raise Failure(f"the gateway did not start (start {self._starts}): {self.said()}")
        port = int(line.split("listen=tcp://127.0.0.1:")[1].split()[0])
        self._connect(port)

    def _connect(self, port):
        self._world.side_door.upstream = port
        for source in self._world.sources:
            source.connect(self.seat, port)

    def end(self, signal_number):
        """By this signal; what it had to say is in gateway.err."""
        if self.process is None:
            return
        if self.process.poll() is not None:
            status = self.process.returncode
            self.process = None
            raise Failure(f"the gateway ended by itself, with {status}: {self.said()}")
        self._connect(None)
        self.process.send_signal(signal_number)
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process = None
            raise Failure(f"the gateway still ran {TIMEOUT_S} s after signal {signal_number}") from None
        self.process.stdout.close()
        self.process = None
        return status

    def wait_for_crash(self):
        """Its disk ends it, or the gateway has so little to do that it doesn't come to that."""
        try:
            self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.end(signal.SIGKILL)
            return
        if self.process.returncode != -signal.SIGKILL:
            self.end(signal.SIGKILL)  # says what is wrong
        self._connect(None)
        self.process.stdout.close()
        self.process = None

    def said(self):
        with open(self._world.path("gateway.err"), "rb") as file:
            return file.read().decode(errors="replace")[-1000:].strip()


class Source:
    """One target: its collectors, each of which follows on the one that was killed or stopped. Each source has its own
    proxies."""

    def __init__(self, world, name, plan, endpoint_count):
        self._world = world
        self.name = name
        self.plan = plan
        self.proxies = [Proxy(world.network) for _ in range(endpoint_count)]
        self.page = Page(world.path(f"{name}.page"))
        self.process = None
        self.run_count = 0
        self.disk = None  # below its spool
        self.has_lost_power = False
        self._spool = world.path(f"{name}.spool") if plan["spooled"] else None
        if plan["spooled"]:
            self.disk = SpoolDisk(self._spool, world.path(f"{name}.synced"))

    def connect(self, seat, port):
        for index, proxy in enumerate(self.proxies):
            proxy.upstream = port if index == seat else None

    def _spawn(self, program, options):
        endpoints = ",".join(f"tcp://127.0.0.1:{proxy.port}" for proxy in self.proxies)
        command = [program, "--gateway", endpoints, "--target", self.name, "--exit-wait", str(TIMEOUT_S)]
        command += self._world.keys.options_of(self.name) if self._world.keys else []
        environment = {"PERFLEET_CHAOS_SYNCED": self.disk.synced} if self.disk else {}
        errors = open(self._world.path(f"{self.name}.err"), "ab")
        self.process = self._world.spawn(command + options, self.page, environment, stdout=errors, stderr=errors)

    def wait_until_at_work(self):
        """So that faults meet it there; for a moment at most."""

    def _end_in_order(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name}: still there {TIMEOUT_S} s after SIGTERM") from None

    def stop(self):
        self._end_in_order()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def cut_power(self, lose, seed):
        """Its machine stops at once, and its disk has what the kernel had written."""
        self.kill()
        if self.disk is not None:
            self.has_lost_power = self.note_power_lost() or self.has_lost_power
            self.disk.cut_power(lose, seed)

    def wait(self):
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"{self.name}: not finished {TIMEOUT_S} s after the last fault") from None
        if status != 0:
            raise Failure(f"{self.name} ended with {status}")


class MadeSource(Source):
    """chaos_source."""

    can_be_spoken_for = True  # its frames are written down, and its session can be met again

    def __init__(self, world, name, plan, endpoint_count):
        super().__init__(world, name, plan, endpoint_count)
        self.capture = None
        self.logs = world.path(f"{name}.logs")  # one for each session
        self._powerless = set()  # logs of sessions of which the disk may know less than they did
        os.makedirs(self.logs)

    def start(self, rows=None, session=None, logs=None):
        self.run_count += 1
        self.capture = self._world.path(f"{self.name}.{self.run_count}.capture")
        options = ["--logs", logs or self.logs, "--capture", self.capture, "--seed", str(self.plan["seed"] + self.run_count)]
        options += ["--rows", str(rows or self.plan["rows"])]
        for option in ("duration-ms", "batch-rows", "batch-age-ms", "ring-size", "spool-size", "resend-ms"):
            options += [f"--{option}", str(self.plan[option])]
        if session is not None:
            options += ["--session", session]
        elif self._spool:
            options += ["--spool", self._spool]
        self._spawn(self._world.test_bin("chaos_source"), options)

    def note_power_lost(self):
        """Whether the disk may know less than there was."""
        unfinished = [name for name in os.listdir(self.logs) if not self._is_finished(name)]
        self._powerless.update(unfinished)
        return bool(unfinished)

    def _is_finished(self, name):
        """Whether the end of the session of this log was acknowledged."""
        with open(os.path.join(self.logs, name), encoding="ascii") as file:
            return any(line.startswith("acknowledged ") and line.endswith(" 1\n") for line in file)

    def check_options(self):
        """For chaos_check."""
        option = "--spooled" if self._spool else "--log"
        words = []
        for name in sorted(os.listdir(self.logs)):
            words += ["--power-lost" if name in self._powerless else option, os.path.join(self.logs, name)]
        return words


class TracingSource(Source):
    """perfleet-collector, tracing a program whose calls are numbered."""

    can_be_spoken_for = False

    def __init__(self, world, name, plan, endpoint_count):
        super().__init__(world, name, plan, endpoint_count)
        self._traced = Traced(world.path(f"{name}.traced"), self._spool)

    def start(self):
        self.run_count += 1
        options = ["-e", "syscalls:sys_enter_getpgid", "-c", "1"]
        if self._spool:
            options += ["--spool", self._spool, "--spool-size", str(self.plan["spool-size"])]
        program = self._world.test_bin("numbered_calls_workload")
        command = self._traced.command_of_run(self.run_count, program, self.plan["calls"], self.plan["duration-ms"])
        self._spawn(self._world.bin("perfleet-collector"), options + ["--"] + command)

    def wait_until_at_work(self):
        end = time.monotonic() + START_TIMEOUT_S
        while not self._traced.has_begun() and time.monotonic() < end:
            time.sleep(0.005)

    def stop(self):
        """Not waiting for the last acknowledgements for long: a second signal ends that."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOPPED_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._end_in_order()
        self._traced.keep_spool()

    def kill(self):
        super().kill()
        self._traced.keep_spool()

    def wait(self):
        super().wait()
        self._traced.note_finished()
        if left := self._traced.sessions_in_spool():
            raise Failure(f"{self.name} has finished, and left {' '.join(left)}")

    def note_power_lost(self):
        return self._traced.note_power_lost()

    def check_options(self):
        return ["--traced", f"{self.name}={self._traced.folder}"]


class World:
    def __init__(self, folder, build, plan):
        self._folder = folder
        self._build = build
        self.plan = plan
        self.impostor_logs = None  # folder
        self.dropped_buckets = set()
        self.spawner = Spawner()
        self.network = Network()
        self.keys = Keys(self, [f"source-{index}" for index in range(len(plan["sources"]))]) if plan["keys"] else None
        self.sources = []
        self.side_door = Proxy(self.network)  # to the gateway, for peers that are no source
        self.gateway = Gateway(self, plan)
        for index, source in enumerate(plan["sources"]):
            sort = TracingSource if source["sort"] == "collector" else MadeSource
            self.sources.append(sort(self, f"source-{index}", source, plan["endpoints"]))

    def path(self, name):
        return os.path.join(self._folder, name)

    def bin(self, name):
        return os.path.join(self._build, "bin", name)

    def test_bin(self, name):
        return os.path.join(self._build, "test-bin", name)

    def spawn(self, command, page, more_environment=None, **options):
        environment = dict(os.environ)
        environment["LD_PRELOAD"] = self.test_bin("chaos_world.so")
        environment["PERFLEET_CHAOS_PAGE"] = page.path
        environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + environment.get("ASAN_OPTIONS", "")
        environment.update(more_environment or {})
        return self.spawner.spawn(command, env=environment, **options)

    def run(self, command, more_environment=None):
        """A helper program to its end: status and output."""
        environment = os.environ | (more_environment or {})
        process = self.spawner.spawn(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, output.decode()

    def heal(self):
        """Everything works again."""
        for source in self.sources:
            for proxy in source.proxies:
                proxy.heal()
            if source.process is not None and source.process.poll() is None:
                source.process.send_signal(signal.SIGCONT)
        self.gateway.page.set_syncs_hang(0)
        if self.gateway.disk:
            self.gateway.disk.set("")

    def close(self):
        for process in [self.gateway.process] + [source.process for source in self.sources]:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
