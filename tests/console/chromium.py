"""Headless Chromium, driven by its DevTools protocol: one browser, and for each test a tab with its own storage."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest
import websocket

COMMANDS = ("chromium", "chromium-browser", "google-chrome")
START_SECONDS = 60
WAIT_SECONDS = 20
CALL_SECONDS = 120
KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36} | {
    f"Arrow{name}": code for name, code in (("Left", 37), ("Up", 38), ("Right", 39), ("Down", 40))
}

BINDING = "berthViolation"
# Runs before any script of a page, and is not part of the page. Its reports outlive the document.
WATCH_FOR_VIOLATIONS = f"""
document.addEventListener('securitypolicyviolation', (event) =>
  window.{BINDING}(`${{event.violatedDirective}}: ${{event.blockedURI}} ${{event.sample}}`));
window.alert = () => window.{BINDING}('alert');
"""


class NoBrowser(Exception):
    """Chromium is not installed or did not start."""


def find_browser(command: str = "") -> str:
    """Return the path of Chromium. Raises NoBrowser."""
    for name in (command,) if command else COMMANDS:
        found = shutil.which(name)
        if found:
            return found
    raise NoBrowser("no Chromium; install one with: tools/console/chromium.sh, or name it with BROWSER=command")


def missing(reason: str, environment: Mapping[str, str] = os.environ) -> NoReturn:
    """Skip a test that lacks its tool. If REQUIRE_BROWSER=1 is set, as in the workflows, fail the test instead: a
    skipped test proves nothing."""
    if environment.get("REQUIRE_BROWSER") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


class Browser:
    """Starts Chromium with its own user data directory, and stops only this process."""

    def __init__(self, command: str, directory: Path) -> None:
        port_file = directory / "DevToolsActivePort"
        self._process = subprocess.Popen(
            [
                command,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--force-color-profile=srgb",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                f"--user-data-dir={directory}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + START_SECONDS
        while not (port_file.exists() and port_file.read_text().count("\n")):
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise NoBrowser(f"{command} did not start")
            time.sleep(0.05)
        port, path = port_file.read_text().split("\n")[:2]
        self._socket = websocket.create_connection(f"ws://127.0.0.1:{port}{path}", timeout=CALL_SECONDS)
        self._numbers = itertools.count(1)
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.stop()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Make one call of the protocol. Events that arrive meanwhile are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message if session is None else message | {"sessionId": session}))
        while True:
            received = json.loads(self._socket.recv())
            if received.get("id") == number:
                assert "error" not in received, f"{method}: {received['error']}"
                result: dict[str, Any] = received["result"]
                return result
            if "method" in received:
                self._events.append(received)

    @property
    def version(self) -> str:
        """The browser's name and version, such as HeadlessChrome/150.0.1.2."""
        found: str = self.call("Browser.getVersion")["product"]
        return found

    def events(self, session: str, method: str) -> list[dict[str, Any]]:
        """Return the events of a tab with this method so far."""
        self.call("Runtime.evaluate", session, expression="0")
        return [each["params"] for each in self._events if (each.get("sessionId"), each["method"]) == (session, method)]

    @contextmanager
    def tab(self, width: int = 1280, height: int = 900, scheme: str = "light") -> Iterator[Tab]:
        """Open a tab with its own storage; it is closed at the end of the block."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        try:
            yield self.tab_in(context, width, height, scheme)
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)

    def tab_in(self, context: str, width: int, height: int, scheme: str) -> Tab:
        """Open a tab that shares its storage with other tabs in the same context."""
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, context, target)
        for domain in ("Page", "Runtime"):
            tab.call(f"{domain}.enable")
        tab.call("Runtime.addBinding", name=BINDING)
        tab.run_first(WATCH_FOR_VIOLATIONS)
        tab.resize(width, height)
        tab.emulate(scheme)
        return tab


class Tab:
    def __init__(self, browser: Browser, session: str, context: str, target: str) -> None:
        self._browser, self._session, self._context, self._target = browser, session, context, target

    @contextmanager
    def beside(self) -> Iterator[Tab]:
        """Open another tab with the same storage; it is closed at the end of the block."""
        other = self._browser.tab_in(self._context, 1280, 900, "light")
        try:
            yield other
        finally:
            self._browser.call("Target.closeTarget", targetId=other._target)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Make one call of the protocol for this tab."""
        return self._browser.call(method, self._session, **parameters)

    def run_first(self, script: str) -> None:
        """Run this script in each later document, before the document's own scripts."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, address: str) -> None:
        """Go to an address. If only the fragment differs, the page is not loaded again."""
        self.call("Page.navigate", url=address)

    def reload(self) -> None:
        """Reload the page and wait until the old document is gone."""
        self.evaluate("window.isOld = true")
        self.call("Page.reload")
        self.wait_for("!window.isOld")

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def emulate(self, scheme: str = "light", media: str = "") -> None:
        """Emulate the system's color scheme. media: `print` for paper."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features, media=media)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression or of its promise."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, condition: str, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the expression is true: check it at each frame, or every 0.5 s in a tab that is not drawn."""
        look = f"""new Promise((resolve) => {{
            const end = performance.now() + {seconds * 1000 - 2000};
            const look = () => {{
                let found = false;
                try {{ found = {condition}; }} catch {{ /* not there yet */ }}
                if (found || performance.now() > end) resolve(Boolean(found)); else next();
            }};
            const next = () => {{
                let isOver = false;
                const once = () => {{ if (!isOver) {{ isOver = true; look(); }} }};
                requestAnimationFrame(once);
                setTimeout(once, 500);
            }};
            look();
        }})"""
        for _ in range(3):
            try:
                found = self.evaluate(look)
            except AssertionError as error:
                # The page was reloaded meanwhile.
                if "navigated" not in str(error) and "context" not in str(error):
                    raise
                continue
            assert found, f"{condition} did not become true; the page says: {self.text('#status')}"
            return
        raise AssertionError(f"{condition}: the page was loaded anew each time")

    def text(self, selector: str) -> str:
        found: str = self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return found

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key, with its default action. modifiers: 2 for Ctrl, 8 for Shift."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        code = KEY_CODES.get(key, 0)
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def point(self, x: float, y: float) -> None:
        """Move the pointer to a position in the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press the left button at a position in the window."""
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, x: float, y: float, pixels: float, modifiers: int = 0) -> None:
        """Turn the wheel at a position in the window. modifiers: 2 for Ctrl."""
        moved = {"deltaX": 0, "deltaY": pixels, "modifiers": modifiers}
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, **moved)

    @property
    def violations(self) -> list[str]:
        """Return everything that the policies of all documents so far have blocked, and calls of alert."""
        return [each["payload"] for each in self._browser.events(self._session, "Runtime.bindingCalled")]

    @property
    def errors(self) -> list[str]:
        return [
            str(each["exceptionDetails"]) for each in self._browser.events(self._session, "Runtime.exceptionThrown")
        ]
