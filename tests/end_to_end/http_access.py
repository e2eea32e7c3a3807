#!/usr/bin/env python3
"""Access to a gateway over HTTP: tokens, client certificates, TLS and a Unix socket, by curl and openssl s_client.

http_access.py BIN_DIR. Exit status 1 when a client is accepted that mustn't be, or refused that may.
"""
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import time

from http_interfaces import Gateway, check, failures, pprof


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return check(False, f"waited in vain: {what}")
        time.sleep(0.1)


class Certificates:
    """Files of two authorities, a server and two clients."""

    def __init__(self, folder):
        self.folder = folder
        for authority in ("ca", "other-ca"):
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                         f"/CN={authority}", "-keyout", self[authority + ".key"], "-out", self[authority + ".pem"])
        self.issue("server", "ca")
        self.issue("client", "ca", "pusher")
        self.issue("stranger", "other-ca", "pusher")

    def __getitem__(self, name):
        return os.path.join(self.folder, name)

    def openssl(self, *words):
        return run("openssl", *words, check=True)

    def issue(self, name, authority, common_name="localhost"):
        request, extensions = self[name + ".csr"], self["extensions"]
        with open(extensions, "w") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={common_name}",
                     "-keyout", self[name + ".key"], "-out", request)
        self.openssl("x509", "-req", "-in", request, "-days", "2", "-CA", self[authority + ".pem"], "-CAkey",
                     self[authority + ".key"], "-CAcreateserial", "-extfile", extensions, "-out", self[name + ".pem"])
        os.chmod(self[name + ".key"], 0o600)
        return self.openssl("x509", "-in", self[name + ".pem"], "-noout", "-serial").stdout.strip()


class Guarded(Gateway):
    def __init__(self, bin_dir, folder):
        super().__init__(bin_dir, folder)
        self.certificates = Certificates(folder)
        self.tls = ("--http-certificate", self.certificates["server.pem"], "--http-key", self.certificates["server.key"])
        self.tokens = os.path.join(folder, "tokens")
        self.token = {name: self.make_token(name, role) for name, role in (("grafana", "read"), ("ci", "push"), ("all", "read,push"))}

    def make_token(self, name, role):
        line = self.perfleet("keygen", "--token", "--role", role, "--out", self.folder, name).decode()
        check(re.fullmatch(rf"sha256:[0-9a-f]{{64}} {role} {name}\n", line), f"keygen --token: {line}")
        with open(self.tokens, "a") as file:
            file.write(line)
        path = os.path.join(self.folder, name + ".token")
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "others may read a token")
        with open(path) as file:
            return file.read().strip()

    def curl(self, path, *words, token=None):
        """(exit status, status of HTTP, body)"""
        port = self.http.rpartition(":")[2]
        words += ("-H", f"Authorization: Bearer {token}") if token else ()
        done = run("curl", "-sS", "-m", "60", "--cacert", self.certificates["ca.pem"], "-w", "\n%{http_code}", *words,
                   f"https://localhost:{port}{path}")
        body, _, status = done.stdout.rpartition("\n")
        return done.returncode, int(status), body

    def read_to_end(self, request):
        """An error where the end of the connection isn't that of TLS."""
        context = ssl.create_default_context(cafile=self.certificates["ca.pem"])
        with socket.create_connection(("localhost", int(self.http.rpartition(":")[2])), timeout=60) as plain, \
                context.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False) as connection:
            connection.sendall(request.encode())
            text = b""
            try:
                while piece := connection.recv(65536):
                    text += piece
            except ssl.SSLError as error:
                return f"{error} after {text}"
            return text.decode()

    def refused(self, *options):
        """The message of a gateway that doesn't start."""
        done = run(os.path.join(self.bin, "perfleet-gateway"), "--data", self.data, "--listen", "tcp://127.0.0.1:*", "--query",
                   "tcp://127.0.0.1:*", *options, timeout=120)
        check(done.returncode in (1, 2), f"a gateway with {options} ends with {done.returncode}")
        return done.stderr

    def query_process(self):
        children = run("pgrep", "-P", str(self.process.pid), "perfleet-query").stdout.split()
        return int(children[0]) if children else None


def check_refusals(gateway):
    certificates = gateway.certificates
    everywhere = ("--http", "0.0.0.0:*")
    faulty, open_key = os.path.join(gateway.folder, "faulty"), certificates["open.key"]
    with open(faulty, "w") as file:
        file.write("# tokens\nsha256:00 read a\n")
    with open(open_key, "w") as file, open(certificates["server.key"]) as key:
        file.write(key.read())
    os.chmod(open_key, 0o644)
    for options, text in (
            (everywhere, "--http-tokens"), ((*everywhere, "--http-tokens", gateway.tokens), "--http-certificate"),
            ((*everywhere, *gateway.tls), "--http-tokens"),
            (("--http", "127.0.0.1:*", "--http-tokens", faulty), faulty + ":2: "),
            (("--http", "127.0.0.1:*", "--http-tokens", faulty + "-not"), faulty + "-not"),
            (("--http", "127.0.0.1:*", "--http-certificate", certificates["server.pem"], "--http-key", certificates["client.key"]),
             "--http-key " + certificates["client.key"]),
            (("--http", "127.0.0.1:*", "--http-certificate", faulty, "--http-key", certificates["server.key"]), "--http-certificate " + faulty),
            (("--http", "127.0.0.1:*", "--http-certificate", certificates["server.pem"], "--http-key", open_key), "chmod o-rwx"),
            (("--http", "127.0.0.1:*", *gateway.tls, "--http-client-ca", faulty), "--http-client-ca " + faulty),
            (("--http", "unix:here"), "absolute path"), (("--http", "unix:/" + "a" * 200), "107 bytes"),
            (("--http", "127.0.0.1:*", "--http-debuginfod-upstream", "https://a/\r\nb"), "upstream")):
        said = gateway.refused(*options)
        check(text in said, f"{options}: {said}")


def check_socket(gateway):
    path = os.path.join(gateway.folder, "http.sock")

    def healthz():
        return run("curl", "-sS", "-m", "60", "--unix-socket", path, "http://localhost/healthz").stdout

    left = socket.socket(socket.AF_UNIX)
    left.bind(path)
    left.close()  # as a killed process leaves it
    gateway.start(http="unix:" + path)
    try:
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o660 and stat.S_ISSOCK(os.stat(path).st_mode), "mode of the socket")
        check(healthz() == "ok\n", "the socket")
        targets = run("curl", "-sS", "--unix-socket", path, "http://any.host/api/v1/query/targets").stdout
        check(targets.encode() == gateway.ask("targets"), f"targets by the socket: {targets}")
        other = Gateway(gateway.bin, tempfile.mkdtemp(dir=gateway.folder))
        done = run(os.path.join(gateway.bin, "perfleet-gateway"), "--data", other.data, "--listen", "tcp://127.0.0.1:*", "--query",
                   "tcp://127.0.0.1:*", "--http", "unix:" + path)
        check(done.returncode != 0 and "another program listens" in done.stderr, f"two at one socket: {done}")
        old = gateway.query_process()
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: gateway.query_process() not in (None, old) and healthz() == "ok\n", "the socket after a kill")
    finally:
        gateway.stop()
    check(not os.path.exists(path), "the socket goes with its program")


def check_tokens(gateway):
    token = gateway.token
    port = gateway.http.rpartition(":")[2]
    top = "/api/v1/query/top?by=comm"
    check(gateway.curl(top, token=token["grafana"])[:2] == (0, 200), "a token that may read")
    check(gateway.curl(top, token=token["grafana"])[2] == gateway.ask("top", by="comm").decode(), "its answer")
    for path, words, name, status in (
            ("/healthz", (), None, 200), (top, (), None, 401), (top, (), "ci", 403), ("/metrics", (), None, 401),
            (top + "&token=" + token["grafana"], (), None, 401), (top, ("-u", "grafana:" + token["grafana"]), None, 401),
            ("/querier.v1.QuerierService/LabelNames", ("-X", "POST", "-d", "{}"), None, 401),
            ("/buildid/0102/debuginfo", (), None, 401), ("/buildid/0102/debuginfo", (), "all", 404)):
        got = gateway.curl(path, *words, token=token.get(name))
        check(got[:2] == (0, status), f"{path} {words} as {name}: {got}, expected {status}")
    head = gateway.curl(top, "-I")[2]
    check('WWW-Authenticate: Bearer realm="perfleet"' in head, f"401: {head}")
    profile = os.path.join(gateway.folder, "profile")
    with open(profile, "wb") as file:
        file.write(pprof({("main", "posted"): 7}))
    post = ("-H", "Content-Type: application/octet-stream", "--data-binary", "@" + profile)
    statuses = [gateway.curl("/api/v1/import?target=c", *post, token=token.get(name))[1] for name in (None, "grafana", "ci")]
    check(statuses == [401, 403, 200], f"import without token, to read, to push: {statuses}")
    check(gateway.curl("/api/v1/%69mport?target=c", *post, token=token["grafana"])[1] == 403, "an escaped path")
    large = os.path.join(gateway.folder, "large")
    with open(large, "wb") as file:
        file.truncate(50 << 20)
    for expect in ((), ("-H", "Expect:")):
        check(gateway.curl("/api/v1/import?target=c", *expect, "--data-binary", "@" + large)[1] == 401, "a large body without a token")
    # Such a body ends with the connection: TLS shows that it isn't cut.
    old = gateway.read_to_end(f"GET /api/v1/export?to=folded&event=cpu HTTP/1.0\r\nAuthorization: Bearer {token['all']}\r\n\r\n")
    check(old.startswith("HTTP/1.0 200") and "posted" in old, f"HTTP/1.0 over TLS: {old}")
    plain = run("curl", "-sS", "-m", "60", f"http://localhost:{port}/healthz")
    check(plain.returncode != 0, f"without TLS: {plain}")
    for version, is_spoken in (("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
        said = run("openssl", "s_client", version, "-cipher", "DEFAULT@SECLEVEL=0", "-connect", f"localhost:{port}", "-CAfile",
                   gateway.certificates["ca.pem"], "-verify_return_error", "-quiet",
                   input="GET /healthz HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n")
        check(("HTTP/1.1 200 OK" in said.stdout) == is_spoken, f"{version}: {said}")
    # On one connection, so that they arrive within the limit's time on a busy machine, too.
    requests = [f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess-{i}\r\n" for i in range(20)]
    answers = gateway.read_to_end("\r\n".join(requests) + "Connection: close\r\n\r\n")
    guesses = [int(status) for status in re.findall(r"^HTTP/1.1 (\d+)", answers, re.MULTILINE)]
    check(set(guesses) == {401, 429} and guesses[0] == 401, f"guesses: {guesses}")
    check(gateway.curl(top, token=token["all"])[1] == 200, "a token beside guesses")
    metrics = gateway.curl("/metrics", token=token["grafana"])[2]
    check(int(re.search(r"^perfleet_http_unknown_tokens_total (\d+)", metrics, re.MULTILINE).group(1)) == 20 and
          int(re.search(r"^perfleet_http_denied_total (\d+)", metrics, re.MULTILINE).group(1)) > 25, f"counters: {metrics}")


def check_reload(gateway, log):
    def logged(text):
        with open(log) as file:
            return text in file.read()

    def serial():
        port = gateway.http.rpartition(":")[2]
        shown = run("openssl", "s_client", "-connect", f"localhost:{port}", input="").stdout
        return run("openssl", "x509", "-noout", "-serial", input=shown).stdout.strip()

    with open(gateway.tokens) as file:
        lines = file.read()
    with open(gateway.tokens, "w") as file:
        file.write(lines + "nonsense\n")
    wait_until(lambda: logged(f"{gateway.tokens}:4: "), "the log about a faulty file")
    check(gateway.curl("/metrics", token=gateway.token["all"])[1] == 200, "a faulty file changes nothing")
    with open(gateway.tokens, "w") as file:
        file.write("".join(line for line in lines.splitlines(True) if not line.endswith(" all\n")))
    wait_until(lambda: gateway.curl("/metrics", token=gateway.token["all"])[1] == 401, "a token that was taken back")
    check(gateway.curl("/metrics", token=gateway.token["grafana"])[1] == 200, "the others")
    new = gateway.certificates.issue("server", "ca")
    wait_until(lambda: serial() == new, "a new certificate")
    check(gateway.curl("/healthz")[:2] == (0, 200), "with a new certificate")


def check_client_certificates(gateway):
    certificates = gateway.certificates

    def as_client(name):
        return ("--cert", certificates[name + ".pem"], "--key", certificates[name + ".key"])

    with_ca = (*gateway.tls, "--http-client-ca", certificates["ca.pem"])
    gateway.start(*with_ca, http="0.0.0.0:*")
    try:
        known = gateway.curl("/api/v1/query/targets", *as_client("client"))
        check(known[:2] == (0, 200) and known[2] == gateway.ask("targets").decode(), f"a client's certificate: {known}")
        for name in (None, "stranger"):
            got = gateway.curl("/healthz", *(as_client(name) if name else ()))
            check(got[0] != 0 and got[1] == 0, f"certificate {name}: {got}")
    finally:
        gateway.stop()
    gateway.start(*with_ca, "--http-tokens", gateway.tokens, http="0.0.0.0:*")
    try:
        for words, name, status in (((), "grafana", 200), ((), None, 401), (as_client("client"), None, 200), (as_client("client"), "ci", 403)):
            got = gateway.curl("/metrics", *words, token=gateway.token.get(name))
            check(got[:2] == (0, status), f"certificates and tokens, {words} {name}: {got}, expected {status}")
    finally:
        gateway.stop()


def main():
    bin_dir = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="perfleet-access-") as folder:
        gateway = Guarded(bin_dir, folder)
        log = os.path.join(folder, "log")
        gateway.perfleet("record", "-q", "--data", gateway.data, "--target", "here", "-e", "cpu-clock", "--", "true")
        check_refusals(gateway)
        check_socket(gateway)
        with open(log, "w") as log_file:
            gateway.start(*gateway.tls, "--http-tokens", gateway.tokens, http="0.0.0.0:*", log=log_file)
        try:
            check_tokens(gateway)
            check_reload(gateway, log)
        finally:
            gateway.stop()
        check_client_certificates(gateway)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
