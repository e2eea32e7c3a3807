#!/usr/bin/env python3
"""faulty_cable.py --seed N [--lost SHARE] [--doubled SHARE] [--reordered SHARE] [--damaged SHARE] COMMAND…

Runs COMMAND, a QEMU with `-netdev …,id=net`, with a faulty cable between its network card and that network: of the frames
each way, the given shares are lost, doubled, overtaken by the next ones, or damaged in one bit. When the machine is
off, standard error gets a line with what happened to how many frames.
"""

import argparse
import os
import random
import selectors
import socket
import sys
import time

SIZE_BYTES = 4  # of each frame's size on QEMU's sockets, in network order
PIECE_SIZE_BYTES = 1 << 16
HELD_S = 0.01  # the longest that a frame waits for others to overtake it
WAYS = ("rx", "tx")  # QEMU's names: from the guest, to the guest


class Way:
    def __init__(self, source, sink, shares, seed, counts):
        self.source, self.sink, self.shares, self.counts = source, sink, shares, counts
        self.random = random.Random(seed)
        self.received = b""
        self.held = None
        self.held_since_s = 0.0

    def happens(self, fault):
        is_so = self.random.random() < self.shares[fault]
        self.counts[fault] += is_so
        return is_so

    def send(self, frame):
        self.sink.sendall(len(frame).to_bytes(SIZE_BYTES, "big") + frame)

    def release(self):
        if self.held is not None:
            self.send(self.held)
            self.held = None

    def carry(self, frame):
        self.counts["frames"] += 1
        if self.happens("lost"):
            return
        if self.happens("damaged"):
            bit = self.random.randrange(len(frame) * 8)
            frame = bytearray(frame)
            frame[bit // 8] ^= 1 << bit % 8
        if self.held is None and self.happens("reordered"):
            self.held, self.held_since_s = frame, time.monotonic()
            return
        self.send(frame)
        if self.happens("doubled"):
            self.send(frame)
        self.release()

    def read(self):
        """False: the machine is off."""
        piece = self.source.recv(PIECE_SIZE_BYTES)
        self.received += piece
        while len(self.received) >= SIZE_BYTES:
            end = SIZE_BYTES + int.from_bytes(self.received[:SIZE_BYTES], "big")
            if len(self.received) < end:
                break
            frame, self.received = self.received[SIZE_BYTES:end], self.received[end:]
            self.carry(frame)
        return bool(piece)


def carry_all(ways):
    with selectors.DefaultSelector() as selector:
        for way in ways:
            selector.register(way.source, selectors.EVENT_READ, way)
        while True:
            is_holding = any(way.held is not None for way in ways)
            for key, _ in selector.select(HELD_S if is_holding else None):
                if not key.data.read():
                    return
            for way in ways:
                if time.monotonic() - way.held_since_s >= HELD_S:
                    way.release()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    faults = ("lost", "doubled", "reordered", "damaged")
    for fault in faults:
        parser.add_argument(f"--{fault}", type=float, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = list(arguments.command)
    shares = {fault: getattr(arguments, fault) for fault in faults}
    counts = dict.fromkeys(("frames", *faults), 0)
    ways, theirs = [], []
    for number, way in enumerate(WAYS):
        pairs = {end: socket.socketpair() for end in ("in", "out")}
        for end, (own, other) in pairs.items():
            other.set_inheritable(True)
            theirs.append(other)
            command += ["-chardev", f"socket,id={way}-{end},fd={other.fileno()}"]
        command += ["-object", f"filter-redirector,id={way},netdev=net,queue={way},indev={way}-in,outdev={way}-out"]
        ways.append(Way(pairs["out"][0], pairs["in"][0], shares, arguments.seed + number, counts))
    # The machine is this process, so that signals and its ending are the machine's; the cable is nobody's child.
    if os.fork() != 0:
        os.wait()
        os.execvp(command[0], command)
    if os.fork() != 0:
        os._exit(0)
    for other in theirs:
        other.close()
    try:
        carry_all(ways)
    except (BrokenPipeError, ConnectionError):
        pass
    print("cable", *(f"{name}={count}" for name, count in counts.items()), file=sys.stderr)


if __name__ == "__main__":
    main()
