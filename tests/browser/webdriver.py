"""A headless Chromium through chromedriver (W3C WebDriver), with the standard library alone."""
import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

START_TIMEOUT_S = 60
OPEN_TIMEOUT_S = 60


class BrowserMissing(Exception):
    """Chromium or its driver isn't installed; names which."""


class Browser:
    """One window. Ends with the `with` block, driver and browser alike."""

    def __init__(self, width=1280, height=800, dark=False):
        driver = shutil.which("chromedriver")
        browser = shutil.which("chromium")
        if driver is None or browser is None:
            missing = "chromium-driver" if driver is None else "chromium"
            raise BrowserMissing(f"{missing} isn't installed (tools/setup --browser installs it)")
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.address = f"http://127.0.0.1:{self._port()}"
            options = {
                "binary": browser,
                "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                         "--force-device-scale-factor=1", f"--window-size={width},{height}"]
                        + (["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []),
            }
            capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                            "goog:loggingPrefs": {"browser": "ALL"}}}
            reply = self._ask("POST", "/session", {"capabilities": capabilities}, at_session=False)
            self.session = reply["sessionId"]
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _port(self):
        for line in self.process.stdout:
            if "started successfully on port " in line:
                return int(line.rsplit("on port ", 1)[1].strip().rstrip("."))
        raise RuntimeError("chromedriver ended before it listened")

    def _ask(self, method, path, body=None, at_session=True):
        address = self.address + (f"/session/{self.session}" if at_session else "") + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=START_TIMEOUT_S) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode(errors='replace')[:500]}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def open(self, path):
        """Returns when the page has unpacked its data and drawn."""
        self._ask("POST", "/url", {"url": "file://" + os.path.abspath(path)})
        deadline = time.monotonic() + OPEN_TIMEOUT_S
        while not self.run("return Boolean(window.page || window.figure)"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} isn't drawn")
            time.sleep(0.02)

    def visit(self, address):
        """Returns when the document is loaded."""
        self._ask("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """What the body of a function returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_run(self, script, *arguments):
        """What the script passes to the function that is its last argument."""
        return self._ask("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def keys(self, *keys):
        actions = [action for key in keys for action in ({"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def pointer(self, *steps, kind="mouse"):
        """Steps: (x, y) moves, "down" and "up"."""
        actions = []
        for step in steps:
            if isinstance(step, str):
                actions.append({"type": "pointerDown" if step == "down" else "pointerUp", "button": 0})
            else:
                actions.append({"type": "pointerMove", "duration": 0, "x": int(step[0]), "y": int(step[1])})
        self._ask("POST", "/actions", {"actions": [{"type": "pointer", "id": kind, "parameters": {"pointerType": kind},
                                                    "actions": actions}]})

    def click(self, x, y, kind="mouse"):
        self.pointer((x, y), "down", "up", kind=kind)

    def touch(self, *fingers):
        """Each finger is a list of places (x, y): it comes down at the first, moves along the others at the same time as the others do,
        and goes up."""
        actions = []
        for number, places in enumerate(fingers):
            moves = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)} for x, y in places]
            actions.append({"type": "pointer", "id": f"finger{number}", "parameters": {"pointerType": "touch"},
                            "actions": [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]})
        self._ask("POST", "/actions", {"actions": actions})

    def show_as(self, width, height, dark=False):
        """The window's size, also one below Chromium's least, and what the reader likes."""
        self._emulate("setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self._emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def _emulate(self, name, **parameters):
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Emulation." + name, "params": parameters})

    def console(self):
        """What the page wrote since the last call; errors of scripts and of the Content-Security-Policy are in it."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._ask("GET", "/screenshot")))
