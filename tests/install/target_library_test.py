#!/usr/bin/env python3
"""The library for targets without an operating system, as its user gets it: built by a toolchain file, installed, and
linked into a program by CMake and by pkg-config, with nothing of this repository but what was installed. For riscv64
that program is the example board, which runs in QEMU and streams to a real gateway.
"""

import argparse
import importlib.machinery
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TEMPLATE = """
#include <new>
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/zmtp_driver.h"
#include "target-collector/sel4/run/collector_run.h"
extern "C" void perfleet_panic(const char*, int, const char*) { for (;;) {} }
alignas(perfleet::SmallCollector) static std::byte memory[sizeof(perfleet::SmallCollector)];
extern "C" void _start(const perfleet::SmallTarget* target, perfleet::ByteStream* stream) {
    perfleet::ZmtpDriver driver{*stream};
    auto* collector = new (memory) perfleet::SmallCollector{*target, driver};
    for (;;) collector->step(perfleet::Ticks{0});
}
"""
NETWORK_TEMPLATE = """
#include "target-collector/network/tcp_stream.h"
extern "C" void perfleet_panic(const char*, int, const char*) { for (;;) {} }
extern "C" void _start(perfleet::EthernetPort* port) {
    perfleet::TcpStream stream{*port, {.gateway = {{0x0a000264}, 7411}, .seed = 1}};
    for (;;) stream.tick(1);
}
"""
CURVE_TEMPLATE = """
#include "target-collector/curve/curve_client.h"
#include "target-collector/wire/zmtp_driver.h"
extern "C" void perfleet_panic(const char*, int, const char*) { for (;;) {} }
static std::byte sealed[1024];
extern "C" void _start(perfleet::ByteStream* stream, const std::byte* keys, const perfleet::curve::Key* seed) {
    perfleet::CurveClient curve{*perfleet::CurveClient::read_keys({keys, 64}), *seed, sealed};
    perfleet::ZmtpDriver driver{*stream, {.mechanism = &curve}};
    for (;;) driver.tick(1);
}
"""
FLAGS = ["-O2", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-pie"]
LINK = ["-nostdlib", "-static", "-no-pie"]
RUN_TIMEOUT_S = 280
SHARES = {"heavy": 70, "medium": 20, "light": 10}
SHARE_POINTS_MAX = 8  # of some hundred samples


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(condition, text):
    if not condition:
        sys.exit(text)


class Library:
    def __init__(self, arguments, folder):
        self.source, self.cmake, self.folder = arguments.source, arguments.cmake, folder
        self.compiler = f"{arguments.arch}-linux-gnu-g++"
        self.toolchain = os.path.join(arguments.source, "cmake", "toolchains", f"{arguments.arch}.cmake")
        self.prefix = os.path.join(folder, "prefix")
        launcher = shutil.which("ccache")
        # Each source by itself, as its user gets it, for one architecture.
        unity = "OFF" if arguments.arch == "x86_64" else "ON"
        self.build(os.path.join(arguments.source, "target-collector", "library"), "library", f"-DCMAKE_INSTALL_PREFIX={self.prefix}",
                   f"-DCMAKE_UNITY_BUILD={unity}", f"-DPERFLEET_LWIP={arguments.lwip or 'OFF'}", f"-DPERFLEET_LIBSODIUM={arguments.libsodium or 'OFF'}", *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []), target="install")

    def build(self, source, name, *options, target="all"):
        build = os.path.join(self.folder, name)
        run(self.cmake, "-S", source, "-B", build, "-G", "Ninja", "--toolchain", self.toolchain, *options)
        run(self.cmake, "--build", build, "-j", "2", "--target", target)
        return build

    def copy_of(self, name):
        """Of an example, so that it sees nothing around it."""
        return shutil.copytree(os.path.join(self.source, "target-collector", "library", name), os.path.join(self.folder, name + "_source"))

    def check_programs(self):
        folder = os.path.join(self.folder, "program_source")
        os.mkdir(folder)
        with open(os.path.join(folder, "main.cpp"), "w", encoding="utf-8") as file:
            file.write(TEMPLATE)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.22)\nproject(program LANGUAGES CXX)\nfind_package(perfleet-target REQUIRED)\n"
                       "add_executable(program main.cpp)\ntarget_link_libraries(program perfleet::perfleet-target perfleet::perfleet-memory)\n"
                       f"target_compile_options(program PRIVATE {' '.join(FLAGS)})\ntarget_link_options(program PRIVATE {' '.join(LINK)})\n")
        self.build(folder, "program", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.link_by_pkg_config("perfleet-target", TEMPLATE)

    def link_by_pkg_config(self, package, text):
        if not shutil.which("pkg-config"):
            return
        source = os.path.join(self.folder, f"{package}.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        environment = {**os.environ, "PKG_CONFIG_PATH": os.path.join(self.prefix, "lib", "pkgconfig")}
        said = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
        memory = os.path.join(self.prefix, "lib", "libperfleet-memory.a")
        model = ["-mcmodel=medany"] if self.compiler.startswith("riscv64") else []
        run(self.compiler, *FLAGS, *model, source, *said, memory, *LINK, "-o", os.path.join(self.folder, package))


def check_archive(library, arch, name, of_others, template):
    """What is linked with others' code needs no libc but memory functions; the rest doesn't refer to it."""
    def symbols(archive, which):
        lines = run(f"{arch}-linux-gnu-nm", "--format=posix", which, os.path.join(library.prefix, "lib", f"libperfleet-{archive}.a")).splitlines()
        return {line.split()[0] for line in lines if " " in line}
    own = symbols(name, "--defined-only")
    check(of_others in own, f"no {of_others} in libperfleet-{name}.a")
    wanted = symbols(name, "--undefined-only") - own - {"memcpy", "memmove", "memset", "memcmp", "perfleet_panic"}
    check(not wanted, f"libperfleet-{name}.a wants {sorted(wanted)}")
    referred = symbols("target", "--undefined-only") & (own - symbols("target", "--defined-only")) - {"perfleet_panic"}
    check(not referred, f"libperfleet-target.a refers to {name}: {sorted(referred)}")
    library.link_by_pkg_config(f"perfleet-{name}", template)


def check_licence(library, name):
    check(os.path.exists(os.path.join(library.prefix, "share", "doc", "perfleet-target", name)), f"{name} isn't installed")


def check_board(library, programs, stream):
    """Over its UART, or over its network card: there 10.0.2.100 is the gateway."""
    source = os.path.join(library.folder, "board_example_source")
    if not os.path.exists(source):
        library.copy_of("board_example")
    is_network = "ON" if stream == "network" else "OFF"
    board = os.path.join(library.build(source, f"board_{stream}", f"-DCMAKE_PREFIX_PATH={library.prefix}", f"-DBOARD_NETWORK={is_network}"), "board")
    data = os.path.join(library.folder, f"data_{stream}")
    with subprocess.Popen([os.path.join(programs, "perfleet-gateway"), "--data", data, "--listen", "tcp://127.0.0.1:*",
                           "--query", "tcp://127.0.0.1:*"], stdout=subprocess.PIPE, text=True) as gateway:
        try:
            port = re.search(r"listen=tcp://127\.0\.0\.1:(\d+)", gateway.stdout.readline()).group(1)
            bridge = os.path.join(library.source, "tests", "end_to_end", "guest_bridge.py")
            devices = (["-netdev", f"user,id=net,restrict=on,guestfwd=tcp:10.0.2.100:7411-cmd:{sys.executable} {bridge} 127.0.0.1 {port}",
                        "-device", "virtio-net-device,netdev=net"] if stream == "network" else
                       ["-chardev", f"socket,id=line,host=127.0.0.1,port={port},reconnect=1", "-serial", "chardev:line"])
            run("qemu-system-riscv64", "-M", "virt", "-bios", "none", "-m", "64", "-display", "none", "-nodefaults", "-no-reboot",
                "-icount", "shift=3", *devices, "-device", f"loader,file={board},cpu-num=0", timeout=RUN_TIMEOUT_S)
        finally:
            gateway.terminate()
    check_shares(programs, data, "board_main")
    check_report(programs, data)


def check_report(programs, data):
    """perf names the functions, and none by a mapping symbol."""
    file = data + ".perf"
    run(os.path.join(programs, "perfleet"), "export", "--to", "perf.data", "-o", file, "--data", data)
    report = run("perf", "report", "-i", file, "--stdio", "--no-children", "-g", "none", "--sort", "symbol")
    check("heavy" in report and "$x" not in report, f"perf report: {report}")


def check_shares(programs, data, outermost):
    answer = json.loads(run(os.path.join(programs, "perfleet"), "top", "--data", data, "--format", "json"))
    # Without entropy the gateway grants the session: rows beyond one batch until then are lost, and counted.
    ledger = answer["ledger"]
    check(ledger["produced"] == ledger["stored"] + ledger["lost"].pop("ring_full", 0) and not ledger["lost"], f"not all is stored: {ledger}")
    check(ledger["stored"] > 200, f"few samples: {ledger}")
    rows = rows_of(os.path.join(programs, "perfleet"), "top", "--data", data)
    shares = {row["symbol"].rpartition("::")[2]: row["self_percent"] for row in rows}
    for name, share in SHARES.items():
        check(abs(shares.get(name, 0) - share) < SHARE_POINTS_MAX, f"{name} has {share} %: {shares}")
    whole = [row["children_percent"] for row in rows if row["symbol"].endswith(outermost)]
    check(whole and whole[0] > 99, f"call chains don't reach {outermost}(): {rows}")
    print(f"{answer['ledger']['stored']} samples: {shares}")


def run_sel4_of(source):
    return importlib.machinery.SourceFileLoader("run_sel4", os.path.join(source, "tools", "run-sel4")).load_module()


def check_root_task(library, programs, run_sel4, kernel, loaders):
    run_root_task(library, programs, run_sel4, kernel, loaders, "root_task")
    check_shares(programs, os.path.join(library.folder, "data"), "busy")


def run_root_task(library, programs, run_sel4, kernel, loaders, image):
    prefix = kernel.prefix
    build = library.build(library.copy_of("root_task_example"), "root_task", f"-DCMAKE_PREFIX_PATH={library.prefix}", f"-DSEL4_PREFIX={prefix}",
                          target=image)
    memory = run_sel4.memory_mib(os.path.join(prefix, "support", "platform_gen.json"), kernel.architecture)
    begin = run_sel4.MEMORY_BEGIN[kernel.architecture]
    run_until_bye(library, programs, run_sel4, kernel, memory,
                  "-kernel", os.path.join(loaders, kernel.loader + ".elf"),
                  "-device", f"loader,file={kernel.image},addr={begin + run_sel4.KERNEL_FILE_OFFSET:#x},force-raw=on",
                  "-device", f"loader,file={os.path.join(build, image)},addr={begin + run_sel4.ROOT_FILE_OFFSET:#x},force-raw=on")


class ManyThreads:
    """What the example many_threads.cpp does, against what is stored."""

    WORKERS, FIRST_GUEST, ROUNDS, FIRST_COME, SECOND_COME, SECOND_GONE = 40, 32, 50, 10, 25, 45
    DEVIATION_MAX = 0.03  # of one thread's cycles a unit from the others'

    def __init__(self):
        self.turns = {}  # of each thread: (name, number, function) → how many
        for number in range(self.WORKERS):
            if number < self.FIRST_GUEST:
                self.turns[f"w{number:02}", number, f"turn_of<{number}u>"] = self.ROUNDS
            else:
                self.turns[f"w{number:02}", number, f"turn_of<{number}u>"] = self.SECOND_COME - self.FIRST_COME
                self.turns[f"s{number:02}", number, f"turn_of_second<{number}u>"] = self.SECOND_GONE - self.SECOND_COME

    def units(self):
        return {name: turns * (1 + number % 8) for (name, number, _), turns in self.turns.items()}

    def check_chains(self, folded):
        """Each sample of a thread is in its own functions, to their outermost. Returns how many each thread has."""
        counts = {}
        functions = {name: function for name, _, function in self.turns}
        for line in folded.splitlines():
            chain, _, count = line.rpartition(" ")
            name, *frames = chain.split(";")
            check(name in functions, f"a sample of {name}: {line}")
            counts[name] = counts.get(name, 0) + int(count)
            frames = [frame.removeprefix("void ").replace("(anonymous namespace)::", "") for frame in frames]
            outermost = functions[name].replace("turn_of_second", "second").replace("turn_of", "worker")
            check(frames[0] == outermost and set(frames[1:]) <= {functions[name], "spin", "wait_for"}, f"not of that thread: {line}")
        return counts

    def check_work(self, cycles, what):
        units = self.units()
        check(cycles.keys() == units.keys(), f"{what}: threads {sorted(cycles.keys() ^ units.keys())}")
        unit = sorted(cycles[name] / units[name] for name in units)[len(units) // 2]
        wrong = {name: cycles[name] / units[name] / unit for name in units if abs(cycles[name] / units[name] / unit - 1) > self.DEVIATION_MAX}
        check(not wrong, f"{what}: not what these threads did: {wrong}")

    def check_utilisation(self, rows):
        """Of threads that stay, all their work; of those that go, what is in windows that they lived to the end of."""
        cycles, lost = {}, 0
        for row in rows:
            check(row["fault"] is None, f"{row}")
            if row["thread"] == "others":
                lost += row["cycles"]
            elif row["thread"] not in ("root", "idle_thread", "total"):
                cycles[row["thread"]] = cycles.get(row["thread"], 0) + row["cycles"]
        units = self.units()
        stay = {f"w{number:02}" for number in range(self.FIRST_GUEST)}
        unit = sum(cycles[name] for name in stay) / sum(units[name] for name in stay)
        missing = sum(units[name] * unit - cycles.get(name, 0) for name in units.keys() - stay)
        check(cycles.keys() <= units.keys(), f"utilisation of {sorted(cycles.keys() - units.keys())}")
        # Deleted threads' cycles are in `others`, and nothing else is.
        check(abs(missing - lost) < self.DEVIATION_MAX * sum(units[name] * unit for name in units.keys() - stay),
              f"{missing} cycles of those that went aren't {lost} of others")
        self.check_work({name: cycles[name] if name in stay else units[name] * unit for name in units}, "utilisation")
        print(f"{len(cycles)} threads' utilisation: {unit:.0f} cycles a unit, {lost} of others")


def check_many_threads(library, programs, run_sel4, kernel, loaders):
    run_root_task(library, programs, run_sel4, kernel, loaders, "many_threads")
    data = os.path.join(library.folder, "data")
    perfleet = os.path.join(programs, "perfleet")
    answer = json.loads(run(perfleet, "top", "--data", data, "--format", "json"))
    check(answer["ledger"]["produced"] == answer["ledger"]["stored"], f"not all is stored: {answer['ledger']}")
    many = ManyThreads()
    folded = os.path.join(library.folder, "folded")
    run(perfleet, "export", "--to", "folded", "-o", folded, "--data", data)
    with open(folded, encoding="utf-8") as file:
        counts = many.check_chains(file.read())
    if kernel.benchmark == "track_utilisation" or "KERNEL_MCS" in kernel.config:
        many.check_work({row["command"]: row["self"] for row in rows_of(perfleet, "top", "--by", "command", "--data", data)}, "samples")
    # If the kernel can't report which thread ran, turns that end before the next tick have none.
    check(len(counts) > many.WORKERS / 2, f"samples of few threads: {counts}")
    print(f"{answer['ledger']['stored']} samples of {len(counts)} threads")
    if kernel.benchmark == "track_utilisation":
        many.check_utilisation(rows_of(perfleet, "utilisation", "--data", data))


def rows_of(*question):
    answer = json.loads(run(*question, "--format", "json"))
    names = [column["name"] for column in answer["columns"]]
    return [dict(zip(names, row)) for row in answer["rows"]]


def check_microkit(library, programs, sdk):
    run_sel4 = run_sel4_of(library.source)
    kernel = run_sel4.Microkit(sdk)
    build = library.build(library.copy_of("microkit_example"), "microkit", f"-DCMAKE_PREFIX_PATH={library.prefix}", f"-DMICROKIT_SDK={sdk}",
                          "-DSECONDS=5")
    memory = run_sel4.memory_mib(os.path.join(kernel.board, "platform_gen.json"), kernel.architecture)
    image = os.path.join(build, "loader.img")
    run_until_bye(library, programs, run_sel4, kernel, memory,
                  "-device", f"loader,file={image},addr={run_sel4.MICROKIT_IMAGE_ADDRESS:#x},cpu-num=0")
    check_shares(programs, os.path.join(library.folder, "data"), "work")


def run_until_bye(library, programs, run_sel4, kernel, memory, *image):
    """A machine that streams over its UART, until the gateway has heard Bye: the machine goes on."""
    data = os.path.join(library.folder, "data")
    gateway = run_sel4.Gateway(data, programs=programs)
    try:
        host, port = re.fullmatch(r"tcp://(.+):(\d+)", gateway.endpoint).groups()
        machine = subprocess.Popen(
            [kernel.emulator, *run_sel4.virt_machine(kernel.config), "-m", str(memory),
             "-display", "none", "-nodefaults", "-no-reboot", "-chardev", f"socket,id=line,host={host},port={port},reconnect=1",
             # A busy host takes no samples away.
             *run_sel4.icount_options(kernel.architecture, 0), "-serial", "chardev:line", *image])
        try:
            deadline = time.monotonic() + RUN_TIMEOUT_S
            while '"ended"' not in run(os.path.join(programs, "perfleet"), "sessions", "--data", data, "--format", "json"):
                check(time.monotonic() < deadline, "the collector didn't end its session")
                time.sleep(1)
        finally:
            machine.kill()
            machine.wait()
    finally:
        gateway.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="aarch64", choices=["aarch64", "riscv64", "x86_64"])
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--source", required=True, help="the repository")
    parser.add_argument("--programs", required=True, help="where perfleet and perfleet-gateway are")
    parser.add_argument("--lwip", metavar="DIR", help="its source tree; without it there is no network")
    parser.add_argument("--libsodium", metavar="DIR", help="its source tree; without it there are no keys")
    parser.add_argument("--sel4-prefix", metavar="DIR", help="instead of programs: the example root task, on the seL4 that was installed there")
    parser.add_argument("--many-threads", action="store_true", help="with --sel4-prefix: a root task with more threads, instead of the example's")
    parser.add_argument("--loaders", metavar="DIR", help="with --sel4-prefix, which then says the architecture: where perfleet-loader*.elf are")
    parser.add_argument("--microkit-sdk", metavar="DIR", help="instead of programs: the example Microkit system, by the SDK that lies there")
    arguments = parser.parse_args()
    if arguments.sel4_prefix == "":
        print("skipped: no installed seL4 (-DPERFLEET_SEL4_PREFIX; docs/sel4.md)")
        return
    if arguments.microkit_sdk == "":
        print("skipped: no Microkit SDK (-DPERFLEET_MICROKIT_SDK; docs/microkit.md)")
        return
    if arguments.sel4_prefix:
        run_sel4 = run_sel4_of(arguments.source)
        kernel = run_sel4.Kernel(arguments.sel4_prefix)
        if kernel.is_pc:
            print("skipped: the example root task is for AArch64 and RISC-V")
            return
        if arguments.many_threads and kernel.benchmark not in ("track_utilisation", "none"):
            print("skipped: the root task with many threads reads no log")
            return
        arguments.arch = kernel.architecture
    if not shutil.which(f"{arguments.arch}-linux-gnu-g++"):
        print(f"skipped: {arguments.arch}-linux-gnu-g++ isn't installed (tools/setup)")
        return
    with tempfile.TemporaryDirectory(prefix="perfleet-library-") as folder:
        library = Library(arguments, folder)
        if arguments.sel4_prefix:
            check_kernel = check_many_threads if arguments.many_threads else check_root_task
            check_kernel(library, arguments.programs, run_sel4, kernel, arguments.loaders)
            return
        if arguments.microkit_sdk:
            check_microkit(library, arguments.programs, arguments.microkit_sdk)
            return
        library.check_programs()
        if arguments.lwip:
            check_archive(library, arguments.arch, "network", "tcp_write", NETWORK_TEMPLATE)
            check_licence(library, "COPYING.lwip")
        if arguments.libsodium:
            check_archive(library, arguments.arch, "curve", "crypto_core_salsa20", CURVE_TEMPLATE)
            check_licence(library, "LICENSE.libsodium")
        if arguments.arch == "riscv64":
            if not shutil.which("qemu-system-riscv64"):
                print("skipped: qemu-system-riscv64 isn't installed (tools/setup)")
                return
            check_board(library, arguments.programs, "uart")
            if arguments.lwip:
                check_board(library, arguments.programs, "network")


if __name__ == "__main__":
    main()
