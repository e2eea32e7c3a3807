#!/usr/bin/env python3
"""`perfleet web`: its access control, and that it answers as the command line does, of a store, a file, a command's recording
and a gateway. Its page in a browser: tests/browser.

web.py BIN_DIR: exit status 1 when an answer differs.
"""
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.parse

SIZE_MAX = 400_000  # of the page's script
failures = []


def check(is_right, what):
    if not is_right:
        failures.append(what)
        print("FAILED:", what, flush=True)


@contextlib.contextmanager
def served(perfleet, *arguments, stop=signal.SIGINT, **options):
    """Address and key of a `perfleet web`."""
    server = subprocess.Popen([perfleet, "web", *arguments], stdout=subprocess.PIPE, text=True, **options)
    try:
        link = ""
        while not link.startswith("http://") and server.poll() is None:
            link = server.stdout.readline().strip()
        address = urllib.parse.urlsplit(link)
        yield address.netloc, address.query.removeprefix("key=")
    finally:
        server.send_signal(stop)
        check(server.wait(timeout=60) == 0, f"{arguments}: it ended with {server.returncode}")


def ask(netloc, path, cookie="", method="GET", **headers):
    connection = http.client.HTTPConnection(netloc, timeout=120)
    connection.request(method, path, headers={**({"Cookie": cookie} if cookie else {}), **headers})
    reply = connection.getresponse()
    return reply.status, reply.read(), reply


def let_in(netloc, key):
    status, _, reply = ask(netloc, "/open?key=" + key)
    check(status == 303 and reply.getheader("Location") == "/", f"the link: {status}")
    said = reply.getheader("Set-Cookie") or ""
    check("HttpOnly" in said and "SameSite=Strict" in said, f"the cookie is {said}")
    return said.split(";")[0]


def answer_of(netloc, cookie, query):
    status, body, _ = ask(netloc, "/api/v1/query/" + query, cookie)
    check(status == 200, f"{query}: {status} {body[:200]}")
    return json.loads(body) if status == 200 else {"rows": [], "ledger": {}}


def told(perfleet, *words):
    return json.loads(subprocess.run([perfleet, *words, "--format", "json"], capture_output=True, text=True, check=True).stdout)


def lets_one_browser_in(netloc, key):
    for path, status in (("/", 200), ("/app.js", 200), ("/app.css", 200), ("/healthz", 200), ("/api/v1/query/top", 401), ("/api/v1/export?to=folded", 401),
                         ("/metrics", 401), ("/buildid/00/debuginfo", 401), ("/open", 403), ("/open?key=", 403), ("/open?key=" + key[:-1], 403), ("/nothing", 401)):
        check(ask(netloc, path)[0] == status, f"{path} without the cookie: {ask(netloc, path)[0]}")
    check(ask(netloc, "/", Host="evil.example:80")[0] == 421, "another host's name")
    check(ask(netloc, "/open?key=" + key, method="HEAD")[0] == 403, "a preview uses the link up")
    cookie = let_in(netloc, key)
    check(ask(netloc, "/open?key=" + key)[0] == 403, "the link is valid twice")
    check(ask(netloc, "/open?key=" + key, cookie)[0] == 303, "the browser that has the cookie may open it again")
    for other in (cookie[:-1], cookie + "0", "x" + cookie, cookie.split("=")[0], "; ".join(["a=b"] * 50)):
        check(ask(netloc, "/api/v1/query/top", other)[0] == 401, f"the cookie {other[:40]}")
    check(ask(netloc, "/api/v1/import?target=x", cookie, "POST")[0] in (401, 403, 404, 405), "it takes profiles")
    _, script, reply = ask(netloc, "/app.js")
    check(len(script) < SIZE_MAX and b"http://" not in script.replace(b"http://www.w3.org", b""), f"the script has {len(script)} bytes")
    check("default-src 'none'" in reply.getheader("Content-Security-Policy"), "the policy")
    return cookie


def main():
    bin_dir = os.path.abspath(sys.argv[1])
    perfleet = os.path.join(bin_dir, "perfleet")
    with tempfile.TemporaryDirectory(prefix="perfleet-web-") as folder:
        data, recording = os.path.join(folder, "data"), os.path.join(folder, "perf.data")
        work = ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]
        with served(perfleet, "--data", data, "-F", "999", "--", *work, stderr=subprocess.DEVNULL) as (netloc, key):
            cookie = lets_one_browser_in(netloc, key)
            for command, words in (("top?limit=5&no-children", ["--limit", "5", "--no-children"]), ("subsecond?cell=50", ["--cell", "50"]), ("series?steps=20", ["--steps", "20"]),
                                   ("sessions", []), ("losses", [])):
                answer = answer_of(netloc, cookie, command)
                expected = told(perfleet, command.split("?")[0], "--data", data, "--all", *words)
                check(answer["rows"] == expected["rows"] and answer["rows"] and answer["ledger"] == expected["ledger"], f"{command} differs from the command line")
            status, page, _ = ask(netloc, "/api/v1/export?to=html&as=json", cookie)
            total = told(perfleet, "top", "--data", data, "--all")["measure"]["total"]
            check(status == 200 and sum(json.loads(page)["cells"]["value"]) == total, f"the flame graph's total: {status}")
            check(ask(netloc, "/api/v1/query/top?from=nonsense", cookie)[0] == 400, "a wrong time")
        subprocess.run([perfleet, "export", "--data", data, "--to", "perf.data", "-o", recording], check=True, stderr=subprocess.DEVNULL)
        with served(perfleet, recording, stop=signal.SIGTERM, stderr=subprocess.DEVNULL) as (netloc, key):
            check(answer_of(netloc, let_in(netloc, key), "top")["measure"]["total"] == total, "a recording of perf")
        gateway = subprocess.Popen([os.path.join(bin_dir, "perfleet-gateway"), "--data", data, "--listen", "tcp://127.0.0.1:*", "--query", "tcp://127.0.0.1:*"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            endpoint = next(word for word in gateway.stdout.readline().split() if word.startswith("query=")).removeprefix("query=")
            with served(perfleet, "--gateway", endpoint, stderr=subprocess.DEVNULL) as (netloc, key):
                cookie = let_in(netloc, key)
                check(answer_of(netloc, cookie, "top")["measure"]["total"] == total, "a gateway's answer")
                status, folded, _ = ask(netloc, "/api/v1/export?to=folded", cookie)
                check(status == 200 and folded == subprocess.run([perfleet, "export", "--to", "folded", "--gateway", endpoint, "-o", "-"], capture_output=True, check=True).stdout,
                      "a gateway's export differs")
        finally:
            gateway.terminate()
            gateway.wait(timeout=60)
        for arguments, words in ((["--listen", "0.0.0.0:*"], "this machine alone"), (["--data", folder + "/none"], "no perfleet store"), (["-i", recording, "--", "true"], "not together"),
                                 (["--data", data, "--", "/no/such/program"], "/no/such/program")):
            ended = subprocess.run([perfleet, "web", *arguments], capture_output=True, text=True, timeout=60, check=False)
            check(ended.returncode != 0 and words in " ".join(ended.stderr.split()).lower(), f"{arguments}: {ended.returncode} {ended.stderr}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
