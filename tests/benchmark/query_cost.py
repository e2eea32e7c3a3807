#!/usr/bin/env python3
"""What questions and exports cost, beside perf on the same samples.

Records a load with the collector, exports it, and times, as CPU seconds and peak memory of each whole process:
  perfleet top                      against  perf report --stdio (with and without children)
  perfleet export --to perf.data    per sample
  perfleet export --to pprof        per sample
  perfleet export --to folded       against  perf script | awk
Also the bytes that a sample takes in the store, beside perf.data, zstd and xz of it.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile

AWK = r"""/^[^ \t#]/ {comm=$1; next} /^[ \t]+[0-9a-f]+ / {sub(/^[ \t]+[0-9a-f]+ /, ""); stack = $1 (stack == "" ? "" : ";" stack); next}
/^$/ {if (stack != "") count[comm ";" stack]++; stack = ""} END {for (s in count) print s, count[s]}"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--seconds", type=float, default=30, help="length of the recording (default 30)")
    parser.add_argument("--frequency", type=int, default=4999, help="Hz (default 4999)")
    parser.add_argument("--command", default="find /usr/include/c++ -name '*.h' | xargs cat | xz -3 -T2 | wc -c; "
                        "find /usr/share/doc -type f | xargs sha256sum | sort | gzip -9 | wc -c",
                        help="shell command that is repeated as the load")
    return parser.parse_args()


def timed(arguments, stdout=subprocess.DEVNULL):
    """Runs to the end; (CPU seconds, peak KiB)."""
    process = subprocess.Popen(arguments, stdout=stdout, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{arguments[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def tree_size_bytes(folder):
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names
               if not name.startswith("LOG"))


def main():
    options = parse_arguments()
    perfleet = os.path.join(options.bin, "perfleet")
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        load = subprocess.Popen(["sh", "-c", f"while :; do {options.command}; done"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            subprocess.run([perfleet, "record", "-a", "-g", "-e", "cpu-clock", "-F", str(options.frequency), "--duration",
                            str(options.seconds), "--data", store], stdout=subprocess.DEVNULL, check=True)
        finally:
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()

        data = os.path.join(folder, "perf.data")
        export_s, export_kib = timed([perfleet, "export", "--to", "perf.data", "-o", data, "--data", store])
        stats = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True, check=True).stdout
        samples = int(re.search(r"SAMPLE events:\s+(\d+)", stats).group(1))

        def show(name, cpu_s, peak_kib):
            print(f"{name:44} {cpu_s:9.3f} s CPU {cpu_s / samples * 1e6:9.3f} us a sample {peak_kib / 1024:9.1f} MiB", flush=True)

        print(f"{samples} samples at {options.frequency} Hz")
        show("perfleet export --to perf.data", export_s, export_kib)
        top_s, top_kib = timed([perfleet, "top", "--data", store])
        show("perfleet top", top_s, top_kib)
        flat_s, flat_kib = timed(["perf", "report", "--stdio", "--no-children", "-g", "none", "-i", data])
        show("perf report --stdio --no-children -g none", flat_s, flat_kib)
        report_s, report_kib = timed(["perf", "report", "--stdio", "-i", data])
        show("perf report --stdio", report_s, report_kib)
        folded_s, folded_kib = timed([perfleet, "export", "--to", "folded", "-o", os.path.join(folder, "folded"), "--data", store])
        show("perfleet export --to folded", folded_s, folded_kib)
        pprof = os.path.join(folder, "profile.pb.gz")
        show("perfleet export --to pprof", *timed([perfleet, "export", "--to", "pprof", "-o", pprof, "--data", store]))
        script_s, script_kib = timed(["sh", "-c", f"perf script -F comm,ip,sym -i {data} | awk '{AWK}'"])
        show("perf script | awk", script_s, script_kib)
        print(f"perf report --stdio / perfleet top: {report_s / top_s:.0f}")
        print(f"perf script | awk / perfleet export --to folded: {script_s / folded_s:.1f}")

        print(f"{'store':12} {tree_size_bytes(store) / samples:7.2f} B a sample")
        print(f"{'perf.data':12} {os.path.getsize(data) / samples:7.2f} B a sample")
        for packer, arguments in (("zstd -19", ["zstd", "-19", "-q", "-c", data]), ("xz -6", ["xz", "-6", "-c", data])):
            packed = os.path.join(folder, "packed")
            try:
                with open(packed, "wb") as file:
                    timed(arguments, file)
                print(f"{packer:12} {os.path.getsize(packed) / samples:7.2f} B a sample")
            except FileNotFoundError:
                print(f"{packer}: not installed")


if __name__ == "__main__":
    main()
