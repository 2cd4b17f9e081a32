"""A headless Chromium, driven over WebDriver with nothing but the standard library.

Needs Debian's `chromium` and `chromium-driver`.
"""

import base64
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
# The driver is on this machine: never ask a proxy for it.
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """The programs that are not there."""
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class Browser:
    def __init__(self, address, session):
        self.base = f"{address}/session/{session}"

    def call(self, path, body=None, method=None):
        data = None if method else json.dumps(body or {}).encode()
        request = urllib.request.Request(f"{self.base}/{path}".rstrip("/"), data, {"Content-Type": "application/json"})
        request.method = method or "POST"
        try:
            with LOCAL.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, path):
        self.call("url", {"url": pathlib.Path(path).resolve().as_uri()})

    def run(self, script, *args):
        """Runs a script in the page and returns what it returns."""
        return self.call("execute/sync", {"script": script, "args": list(args)})

    def wait(self, script, what, seconds=30):
        """Waits until an expression is true, and returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(f"return {script}")
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"waited {seconds} s for {what}")

    def devtools(self, command, **params):
        return self.call("goog/cdp/execute", {"cmd": command, "params": params})

    def size(self, width, height, scale=1, mobile=False):
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile
        )

    def scheme(self, name):
        # Nothing glides: what is to be clicked is where it is.
        wanted = {"prefers-color-scheme": name, "prefers-reduced-motion": "reduce"}
        features = [{"name": key, "value": value} for key, value in wanted.items()]
        self.devtools("Emulation.setEmulatedMedia", media="", features=features)

    def find(self, selector):
        return self.call("element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call(f"element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.call(f"element/{self.find(selector)}/value", {"text": text})

    def keys(self, text):
        """Presses keys where the focus is."""
        steps = [step for key in text for step in ({"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})]
        self.call("actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def mouse(self, x, y, *steps):
        """Moves the pointer to a place and does `down`, `up` or another (x, y)."""
        actions = [self.move(x, y)]
        for step in steps:
            if isinstance(step, tuple):
                actions.append(self.move(*step))
            else:
                actions.append({"type": "pointer" + step.capitalize(), "button": 0})
        self.call("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    @staticmethod
    def move(x, y):
        return {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}

    def shot(self, path, whole=False):
        """Writes what is seen, or the whole page, as PNG."""
        data = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def pdf(self):
        """The page as it is printed."""
        return base64.b64decode(self.call("print", {"background": True}))

    def messages(self):
        """What the console said since last asked."""
        return [m for m in self.call("se/log", {"type": "browser"}) if m["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """The addresses the page asked for since last asked."""
        events = [json.loads(e["message"])["message"] for e in self.call("se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


@contextlib.contextmanager
def browser():
    """A fresh browser, closed with everything it wrote when it is no longer needed."""
    # The browser may still be writing its profile when the folder goes.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with open(f"{folder}/log", "w+") as log:
            driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=log, stderr=log)
            try:
                page = connect(f"{folder}/log", folder)
                yield page
                page.call("", method="DELETE")
            finally:
                driver.terminate()
                driver.wait(30)


def connect(log, folder):
    end = time.monotonic() + 60
    while not (port := re.search(r"successfully on port (\d+)", pathlib.Path(log).read_text())):
        if time.monotonic() > end:
            raise RuntimeError("chromedriver did not start: " + pathlib.Path(log).read_text())
        time.sleep(0.05)
    address = f"http://127.0.0.1:{port[1]}"
    wanted = {
        "browserName": "chrome",
        "goog:chromeOptions": {"args": [*FLAGS, f"--user-data-dir={folder}/profile"]},
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
    }
    body = json.dumps({"capabilities": {"alwaysMatch": wanted}}).encode()
    request = urllib.request.Request(f"{address}/session", body, {"Content-Type": "application/json"})
    with LOCAL.open(request, timeout=120) as answer:
        return Browser(address, json.load(answer)["value"]["sessionId"])
