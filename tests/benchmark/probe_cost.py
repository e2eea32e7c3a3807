#!/usr/bin/env python3
"""The cost of a pair of probes, beside two bare clock reads and two events of LTTng-UST, in one run.

Medians of interleaved repetitions. With lttng-tools and liblttng-ust-dev installed a session of LTTng records its events into memory.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/benchmark-bin", help="folder of probe_benchmark")
    parser.add_argument("--repetitions", type=int, default=25, help="of each, interleaved (default 25)")
    return parser.parse_args()


class LttngSession:
    """Records perfleet_benchmark:* into memory while it is entered; nothing where LTTng isn't installed."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory()
        self.environment = dict(os.environ, LTTNG_HOME=self.home.name, LTTNG_UST_REGISTER_TIMEOUT="5000")
        self.daemon = None

    def lttng(self, *words):
        subprocess.run(["lttng", "--no-sessiond", *words], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        if not (shutil.which("lttng") and shutil.which("lttng-sessiond")):
            return self.environment
        self.daemon = subprocess.Popen(["lttng-sessiond", "--sig-parent", "--no-kernel", "--quiet"], env=self.environment,
                                       preexec_fn=lambda: __import__("signal").pthread_sigmask(0, [10]))
        __import__("signal").sigtimedwait([10], 20)
        self.lttng("create", "probes", "--snapshot")
        self.lttng("enable-channel", "-u", "ring", "--overwrite", "--subbuf-size=1M", "--num-subbuf=4")
        self.lttng("enable-event", "-u", "-c", "ring", "perfleet_benchmark:*")
        self.lttng("start")
        return self.environment

    def __exit__(self, *_):
        if self.daemon:
            self.lttng("destroy", "probes")
            self.daemon.terminate()
            self.daemon.wait()
        self.home.cleanup()


def main():
    options = parse_arguments()
    __import__("signal").pthread_sigmask(0, [10])  # SIGUSR1: the session daemon is ready
    with LttngSession() as environment:
        ran = subprocess.run([os.path.join(options.bin, "probe_benchmark"), "--benchmark_format=json",
                              f"--benchmark_repetitions={options.repetitions}", "--benchmark_enable_random_interleaving=true",
                              "--benchmark_min_time=0.02"], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    medians = {}
    for one in json.loads(ran.stdout)["benchmarks"]:
        if one.get("aggregate_name") == "median" or options.repetitions == 1:  # which has no aggregates
            medians[one["run_name"].split("/")[0]] = one["pair_ns"]
    if "two_clock_reads" not in medians:
        sys.exit("probe_cost: no figures")
    for name, pair_ns in medians.items():
        print(f"{name}: {pair_ns:.1f} ns, {pair_ns / medians['two_clock_reads']:.2f} of two clock reads")


if __name__ == "__main__":
    main()
