#!/usr/bin/env python3
"""A seL4 for several cores is refused by name, by the tool that runs one and by the source that each user's build compiles
against the kernel's libsel4; one for a single core passes the same checks. No kernel is needed for it.
"""

import argparse
import os
import subprocess
import sys
import tempfile

OPTION = "KernelMaxNumNodes"
CONFIG = {"ARCH_AARCH64": "1", "PLAT_QEMU_ARM_VIRT": "1", "EXPORT_PTMR_USER": "1", "EXPORT_PCNT_USER": "1", "EXPORT_PMU_USER": "1",
          "MAX_NUM_TRACE_POINTS": "0"}


def check(condition, text):
    if not condition:
        sys.exit(text)


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def write_prefix(folder, cores):
    """What an install prefix says of its kernel, without the kernel."""
    headers = os.path.join(folder, "libsel4", "include", "kernel")
    os.makedirs(headers)
    with open(os.path.join(headers, "gen_config.h"), "w", encoding="utf-8") as file:
        file.writelines(f"#define CONFIG_{name} {value}\n" for name, value in (CONFIG | {"MAX_NUM_NODES": str(cores)}).items())
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="the repository")
    parser.add_argument("--compiler", required=True, help="any C++ compiler: the source is only preprocessed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perfleet-cores-") as folder:
        for cores in (1, 2, 16):
            prefix = write_prefix(os.path.join(folder, str(cores)), cores)
            status, said = run([os.path.join(arguments.source, "tools", "run-sel4"), "--prefix", prefix])
            check(status == 2 and (OPTION in said) == (cores > 1), f"run-sel4, {cores} cores: {status}\n{said}")
            headers = os.path.join(prefix, "libsel4", "include")
            for name in ("sel4/sel4.h", "sel4/benchmark_track_types.h", "sel4/arch/mapping.h"):
                os.makedirs(os.path.dirname(os.path.join(headers, name)), exist_ok=True)
                with open(os.path.join(headers, name), "w", encoding="utf-8") as file:
                    file.write("#include <kernel/gen_config.h>\n")
            status, said = run([arguments.compiler, "-E", "-std=c++20", "-I", arguments.source, "-I", headers, "-o", os.devnull,
                                "-DCONFIG_IRQ_IOAPIC=1",
                                os.path.join(arguments.source, "target-collector", "sel4", "kernel", "stock_kernel.cpp")])
            check((status != 0) == (cores > 1) and (OPTION in said) == (cores > 1), f"stock_kernel.cpp, {cores} cores: {status}\n{said}")
    print("refused by name")


if __name__ == "__main__":
    main()
