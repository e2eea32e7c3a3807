#!/usr/bin/env python3
"""Clients that attack the HTTP server of a gateway, or push to it as fast as it accepts: crowd.py --beside shows what acknowledgements cost then.

  pushes   8 agents, each a new profile of 100 stacks over one connection after another answer
  idle     as many connections as are taken, that say nothing
  slow     64 requests of a byte a second
  bombs    bodies of gzip that unpack to 1 GiB
  deep     JSON of 100,000 levels
"""
import argparse
import gzip
import http.client
import resource
import socket
import sys
import threading
import time

KINDS = ("pushes", "idle", "slow", "bombs", "deep")


def post(address, path, body, headers):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("POST", path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def push(address, until, number, counts, latencies):
    connection = http.client.HTTPConnection(address, timeout=60)
    for i in range(1_000_000):
        if time.monotonic() > until:
            return
        body = "".join(f"main;handler_{stack % 17};work_{stack} {i + 1}\n" for stack in range(100)).encode()
        start = time.monotonic()
        connection.request("POST", f"/ingest?name=shop.cpu%7Bhostname%3Dweb-{number}%7D&from={time.time_ns()}", body)
        reply = connection.getresponse()
        reply.read()
        counts[reply.status] = counts.get(reply.status, 0) + 1
        latencies.append(time.monotonic() - start)


def repeat(address, until, counts, path, body, headers):
    while time.monotonic() < until:
        try:
            status = post(address, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            status = type(error).__name__
        counts[status] = counts.get(status, 0) + 1


def hold(address, until, count, trickle):
    host, port = address.rsplit(":", 1)
    held = []
    for _ in range(count):
        try:
            held.append(socket.create_connection((host, int(port)), timeout=5))
        except OSError:
            break
    request = b"POST /ingest?name=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000
    for at in range(100_000):
        if time.monotonic() > until:
            break
        for one in held if trickle else ():
            try:
                one.send(request[at % len(request):][:1])
            except OSError:
                pass
        time.sleep(1)
    return len(held)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--http", required=True, help="address of the gateway's --http, which has --http-import")
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    until, counts, latencies = time.monotonic() + options.seconds, {}, []
    otlp = "/v1development/profiles"
    if options.kind in ("idle", "slow"):
        counts["held"] = hold(options.http, until, 10_000 if options.kind == "idle" else 64, options.kind == "slow")
    else:
        bomb = gzip.compress(bytes(1 << 30), 9) if options.kind == "bombs" else b""
        of_kind = {"pushes": lambda number: (push, (options.http, until, number, counts, latencies)),
                   "bombs": lambda _: (repeat, (options.http, until, counts, otlp, bomb, {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"})),
                   "deep": lambda _: (repeat, (options.http, until, counts, otlp, b"[" * 100_000 + b"]" * 100_000, {"Content-Type": "application/json"}))}
        threads = [threading.Thread(target=target, args=args) for target, args in (of_kind[options.kind](number) for number in range(8))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    latencies.sort()
    spread = f"; median {latencies[len(latencies) // 2] * 1e3:.0f} ms, 99 % {latencies[len(latencies) * 99 // 100] * 1e3:.0f} ms" if latencies else ""
    print(f"{options.kind}: {counts} in {options.seconds:.0f} s{spread}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
