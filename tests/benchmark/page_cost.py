#!/usr/bin/env python3
"""How fast a headless Chromium (without a GPU) shows perfleet's pages. Needs chromium and chromium-driver (tools/setup --browser).

Frames a second: a profile of pprof with --frames different frames is imported, and the page of `perfleet flamegraph` gets a turn of the wheel at
each requestAnimationFrame() for --seconds.
First paint, with --data DIR: `perfleet web` on that store; the time from opening a link to a view until the view has drawn, the best of --rounds.
`summary_cost --rows 8000000 --rows-per-hour 333334 --keep DIR` makes a store of a day of one host.

  page_cost.py [--bin build/release/bin] [--frames 100000] [--seconds 5] [--data DIR] [--rounds 5]
"""
import argparse
import contextlib
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "browser"), str(HERE.parent / "end_to_end")]
from protobuf_text import field, varint  # noqa: E402
from webdriver import Browser, BrowserMissing  # noqa: E402

DEPTH = 20
FANOUT = 10  # calls of a function, one in ten of which goes on
ZOOM = """
const done = arguments[arguments.length - 1], canvas = document.querySelector('.main-graph canvas'), box = canvas.getBoundingClientRect();
const begin = performance.now(), ends = begin + 1000 * arguments[0];
let frames = 0, last = begin, slowest = 0;
const step = (now) => {
    slowest = Math.max(slowest, now - last);
    last = now;
    frames++;
    if (now > ends) {
        return done([frames / (now - begin) * 1000, slowest]);
    }
    const isIn = Math.floor((now - begin) / 500) % 2 === 0;
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: isIn ? -40 : 40, ctrlKey: true, bubbles: true, cancelable: true, clientX: box.x + box.width * 0.4, clientY: box.y + box.height / 2 }));
    requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def profile(frame_count):
    """pprof: chains that share their callers, so that each function is a frame of its own, or a few."""
    texts, functions, locations, samples = ["", "cpu", "nanoseconds"], [], [], []
    chain = []
    for number in range(frame_count):
        name = f"function_{number:06d}_of_a_longer_name"
        texts.append(name)
        functions.append(field(5, field(1, number + 1) + field(2, len(texts) - 1)))
        locations.append(field(4, field(1, number + 1) + field(4, field(1, number + 1))))
        place = number % (DEPTH * FANOUT)
        chain = chain[:place // FANOUT] + [number + 1]
        samples.append(field(2, field(1, b"".join(map(varint, reversed(chain)))) + field(2, varint(1_000_000 + number % 97 * 1000))))
    value_type = field(1, 1) + field(2, 2)
    return gzip.compress(field(1, value_type) + b"".join(samples) + b"".join(locations) + b"".join(functions) + b"".join(field(6, text.encode()) for text in texts))


@contextlib.contextmanager
def served(perfleet, data):
    server = subprocess.Popen([perfleet, "web", "--data", data], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def first_paints(perfleet, data, rounds):
    with served(perfleet, data) as link, Browser(width=1280, height=900) as browser:
        browser.visit(link)
        for view, drawn in (("explore", ".view canvas"), ("subsecond", ".map canvas")):
            times_ms = []
            for _ in range(rounds):
                browser.visit("about:blank")
                begin = time.monotonic()
                browser.visit(link[:link.index("/open?")] + "/#/" + view)
                while not browser.run("return Boolean(document.querySelector(arguments[0])) && !document.querySelector('.busy')", drawn):
                    time.sleep(0.005)
                times_ms.append(1000 * (time.monotonic() - begin))
            print(f"first paint of {view}: {min(times_ms):.0f} ms (most {max(times_ms):.0f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of the built programs")
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--data", help="a store whose page is opened, too")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    perfleet = os.path.join(os.path.abspath(options.bin), "perfleet")
    with tempfile.TemporaryDirectory(prefix="perfleet-frames-") as folder:
        source, page = os.path.join(folder, "many.pb.gz"), os.path.join(folder, "many.html")
        pathlib.Path(source).write_bytes(profile(options.frames))
        subprocess.run([perfleet, "flamegraph", "-i", source, "-o", page], check=True, stderr=subprocess.DEVNULL)
        try:
            with Browser(width=1280, height=900) as browser:
                browser.open(page)
                count = browser.run("return (window.page ?? window.figure).profile.frameDepth.length - 1")
                rate, slowest_ms = browser.wait_run(ZOOM, options.seconds)
            if options.data:
                first_paints(perfleet, options.data, options.rounds)
        except BrowserMissing as error:
            print(f"page_cost: {error}", file=sys.stderr)
            return 1
    print(f"{count} frames: drawn {rate:.1f} times a second, the slowest took {slowest_ms:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
