#!/usr/bin/env python3
"""perfleet mcp, as an assistant uses it: JSON-RPC over its standard input and output.

mcp.py BIN_DIR: answers are the command line's, bounded, with their ledger; wrong messages get errors and end nothing.
Exit status 1 when an answer differs.
"""
import json
import os
import subprocess
import sys
import tempfile

failures = []


def check(is_right, what):
    if not is_right:
        failures.append(what)
        print("FAILED:", what, flush=True)


class Server:
    def __init__(self, bin_dir, *words):
        self.process = subprocess.Popen([os.path.join(bin_dir, "perfleet"), "mcp", *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.number = 0

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def reply_to(self, line):
        self.send(line)
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **params):
        self.number += 1
        reply = self.reply_to(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        check(reply["jsonrpc"] == "2.0" and reply["id"] == self.number, f"{method}: {reply}")
        return reply.get("result", reply.get("error"))

    def call(self, tool, **arguments):
        """(is an error, text)"""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return result["isError"], result["content"][0]["text"]


def main():
    bin_dir = sys.argv[1]
    perfleet = os.path.join(bin_dir, "perfleet")
    with tempfile.TemporaryDirectory(prefix="perfleet-mcp-") as folder:
        data = os.path.join(folder, "data")
        subprocess.run([perfleet, "record", "-q", "--data", data, "-F", "999", "-g", "--", "sh", "-c",
                        "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; ls -R /usr/include | sort > /dev/null"], check=True)
        server = Server(bin_dir, "--data", data)
        begun = server.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        check(begun["protocolVersion"] == "2025-06-18" and begun["serverInfo"]["name"] == "perfleet", f"initialize: {begun}")
        check(server.ask("initialize", protocolVersion="1999-01-01")["protocolVersion"] == "2025-11-25", "a version that isn't known")
        server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        server.send("")
        check(server.ask("ping") == {}, "ping")
        tools = {tool["name"]: tool for tool in server.ask("tools/list")["tools"]}
        check({"targets", "sessions", "top", "tree", "diff", "annotate", "latency", "losses"} <= set(tools), f"tools: {sorted(tools)}")
        top = tools["top"]["inputSchema"]["properties"]
        check(top["limit"]["type"] == "integer" and top["no-children"]["type"] == "boolean" and top["comm"]["type"] == "string", f"schema: {top}")

        for tool, words, arguments in (("top", ["--limit", "3", "--no-children"], {"limit": 3, "no-children": True}),
                                       ("top", ["--comm", "sh"], {"comm": "sh", "no-children": False}), ("sessions", [], {}), ("losses", [], {})):
            told = subprocess.run([perfleet, tool, "--data", data, "--format", "json", *words], capture_output=True, text=True, check=True).stdout
            is_error, text = server.call(tool, **arguments)
            check(not is_error and json.loads(text)["rows"] == json.loads(told)["rows"], f"{tool} {words} differs from the command line")
            check(json.loads(text)["ledger"] == json.loads(told)["ledger"], f"{tool}: its ledger")
        is_error, text = server.call("series", step=0.001, by="comm")
        check(not is_error and len(text) <= 65_536, f"an answer of {len(text)} bytes")
        answer = json.loads(text)
        check(len(answer["rows"]) <= 200 and any("rows are here" in warning for warning in answer["warnings"]), "the cut is told")
        for arguments, words in (({"limit": "x"}, "whole number"), ({"nope": 1}, "no argument nope"), ({"limit": [1]}, "limit"), ({"no-children": 3}, "no-children"),
                                 ({"symbol": None}, "symbol")):
            is_error, text = server.call("top", **arguments)
            check(is_error and words in text, f"{arguments}: {text}")

        for line, code in (("{", -32700), ("[" * 100_000, -32700), ("[]", -32600), ('{"id":1}', -32600), ('{"id":{},"method":"ping"}', -32600),
                           ('{"id":7,"method":"tools/none"}', -32601), ('{"id":8,"method":"tools/call","params":{"name":"rm"}}', -32602),
                           ('{"id":9,"method":"tools/call","params":{"name":"top","arguments":[]}}', -32602), ("x" * (2 << 20), -32700)):
            reply = server.reply_to(line)
            check(reply.get("error", {}).get("code") == code, f"{line[:60]}: {reply}")
        server.send('{"jsonrpc":"2.0","id":3,"result":{}}')
        check(server.ask("ping") == {}, "after a reply that nothing asked for")
        server.process.stdin.close()
        check(server.process.wait(timeout=60) == 0, "the end of its input ends it")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
