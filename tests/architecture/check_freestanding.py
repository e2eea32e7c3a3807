#!/usr/bin/env python3
"""Shows that the core needs no host: compiles every freestanding source as for a board without an operating system,
links them into one object, and looks at what that object still wants from outside.

Which files are freestanding stands in check_architecture.py. Allowed from outside are the four functions that a
compiler may call on its own, and the named platform hooks. Prints what else is wanted, and by which source; exit
status 1 then.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from check_architecture import is_freestanding
from source_tree import cpp_files

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

COMPILER_FUNCTIONS = {"memcpy", "memmove", "memset", "memcmp"}
# Of libsodium's portable sources, which users of keys compile beside (cmake/PerfleetCurve.cmake).
LIBSODIUM = {"crypto_core_salsa20", "crypto_core_hsalsa20", "crypto_onetimeauth_poly1305", "crypto_scalarmult_curve25519"}
PLATFORM_HOOKS = {"perfleet_panic"}

FLAGS = ["-std=c++20", "-O2", "-ffreestanding", "-nostdlib", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
         "-fno-stack-protector", "-Wall", "-Wextra", "-Wconversion", "-Wsign-compare", "-Wshadow", "-Werror"]
# With what small targets leave out (PERFLEET_SMALL_DELIVERY). Of the rest no frame is larger than 1,280 bytes; the
# image's and the library's own flags ensure it. Decoders of columns run on hosts.
TARGET_FLAGS = ["-Wframe-larger-than=2560"]
UNIT_SIZE = 8  # sources that are compiled at once

# Tool prefixes to try (the machine's own compiler has none), and flags.
ARCHITECTURES = {
    "x86_64": (["x86_64-linux-gnu-"], ["-march=x86-64-v2"]),
    "aarch64": (["aarch64-linux-gnu-"], ["-march=armv8-a+crc", "-mno-outline-atomics"]),
    "riscv64": (["riscv64-linux-gnu-"], ["-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany"]),
    "riscv64_soft_float": (["riscv64-linux-gnu-"], ["-march=rv64imac", "-mabi=lp64", "-mcmodel=medany"]),
}


class Toolchain:
    def __init__(self, architecture):
        prefixes, self.flags = ARCHITECTURES[architecture]
        for prefix in prefixes:
            tools = [shutil.which(prefix + tool) for tool in ("g++", "ld", "nm")]
            if all(tools):
                self.compiler, self.linker, self.nm = tools
                return
        sys.exit(f"no compiler for {architecture} ({prefixes[0]}g++): run tools/setup")

    def run(self, *command):
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if answer.returncode:
            print(answer.stdout + answer.stderr, end="")
        return answer

    def compiles(self, source, into, of_target):
        more = TARGET_FLAGS if of_target else []
        return self.run(self.compiler, *FLAGS, *more, *self.flags, "-I.", "-c", source, "-o", into).returncode == 0

    def reads(self, source):
        return self.run(self.compiler, *FLAGS, *self.flags, "-I.", "-fsyntax-only", source).returncode == 0

    def wanted(self, binary):
        lines = self.run(self.nm, "--undefined-only", "--format=posix", binary).stdout.splitlines()
        return {line.split()[0] for line in lines if line}


def check_compiler_functions(tools, folder):
    """What the compiler may call on its own must not be called where it is defined: under other names nothing is wanted."""
    object_file = os.path.join(folder, "compiler_functions.o")
    own_names = [f"-D{name}=own_{name}" for name in sorted(COMPILER_FUNCTIONS)]
    for level in ("-O2", "-Os"):
        built = tools.run(tools.compiler, *FLAGS, level, "-fno-tree-loop-distribute-patterns", *tools.flags, *own_names, "-I.", "-c",
                          "target-collector/bare-metal/compiler_functions.cpp", "-o", object_file)
        wanted = sorted(tools.wanted(object_file)) if built.returncode == 0 else ["a compiler that takes it"]
        if wanted:
            print(f"compiler_functions.cpp, {level}: would call {', '.join(wanted)} for ever")
            return False
    return True


def first_include(source):
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#include"):
                return line.split()[1].strip('"') if '"' in line else None
    return None


def units_of(sources, size):
    """Sources of one folder, some at once: so each header they share is read once."""
    units = []
    for source in sources:
        if units and len(units[-1]) < size and os.path.dirname(units[-1][0]) == os.path.dirname(source):
            units[-1].append(source)
        else:
            units.append([source])
    return units


def check(architecture, extra_sources, sources_only, extra_only):
    toolchain = Toolchain(architecture)
    core = [path for path in cpp_files(ROOT) if is_freestanding(path)]
    if extra_only:
        core = [path for path in core if path in ("schemas/columns/crc32c.cpp", "schemas/columns/crc32c.h")]
    sources = [path for path in core if path.endswith(".cpp")] + extra_sources
    headers = [path for path in core if path.endswith(".h")]
    if not sources or not headers:
        print("no freestanding sources found: nothing was checked")
        return False
    with tempfile.TemporaryDirectory(prefix="perfleet-freestanding-") as folder:
        # Of the host's libc, which GCC's headers look for. It isn't installed for every ABI, and has nothing for us.
        os.mkdir(os.path.join(folder, "gnu"))
        with open(os.path.join(folder, "gnu", "stubs-lp64.h"), "w", encoding="utf-8"):
            pass
        toolchain.flags = [*toolchain.flags, "-isystem", folder]
        if not check_compiler_functions(toolchain, folder):
            return False
        # A header alone, so that it can't depend on an earlier include; its own source begins with it as a rule.
        led = {path for path in map(first_include, sources) if path}
        for index, header in enumerate([] if sources_only else sorted(set(headers) - led)):
            alone = os.path.join(folder, f"header{index}.cpp")
            with open(alone, "w", encoding="utf-8") as file:
                file.write(f'#include "{header}"\n')
            if not toolchain.reads(alone):
                print(f"{header}: doesn't compile alone for {architecture} without a host")
                return False
        # One by one where headers are read one by one; the other architectures' compilers read the same text.
        objects = {}
        for index, unit in enumerate(units_of(sources, UNIT_SIZE if sources_only else 1)):
            together = os.path.join(folder, f"unit{index}.cpp")
            with open(together, "w", encoding="utf-8") as file:
                file.writelines(f'#include "{source}"\n' for source in unit)
            named = ", ".join(unit)
            objects[named] = os.path.join(folder, f"{index}.o")
            if not toolchain.compiles(together, objects[named], unit[0].startswith("target-collector/")):
                print(f"{named}: doesn't compile for {architecture} without a host")
                return False
        whole = os.path.join(folder, "core.o")
        if toolchain.run(toolchain.linker, "-r", "-o", whole, *objects.values()).returncode:
            return False
        foreign = toolchain.wanted(whole) - COMPILER_FUNCTIONS - LIBSODIUM - PLATFORM_HOOKS
        for symbol in sorted(foreign):
            by = "; ".join(named for named, built in objects.items() if symbol in toolchain.wanted(built))
            print(f"{architecture}: the core wants '{symbol}' from outside: {by}")
        print(f"{architecture}: {len(sources)} sources and {len(headers)} headers, {len(foreign)} foreign symbols")
        return not foreign


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=sorted(ARCHITECTURES), action="append", help="default: all")
    parser.add_argument("--extra", action="append", default=[], metavar="FILE", help="a source beside the core's")
    parser.add_argument("--sources-only", action="store_true", help="don't compile each header alone")
    parser.add_argument("--extra-only", action="store_true", help="one source of the core is enough beside --extra")
    arguments = parser.parse_args()
    results = [check(architecture, [os.path.abspath(path) for path in arguments.extra], arguments.sources_only, arguments.extra_only)
               for architecture in arguments.arch or sorted(ARCHITECTURES)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
