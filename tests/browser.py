"""A headless Chromium for tests: pages opened from disk, measured and photographed.

It is spoken to over a pipe (no port is opened), by the DevTools protocol, whose scripts run even in
pages that allow none of their own.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

SECONDS = 60.0


def find_chromium() -> str | None:
    """The address of Chromium, if it is installed."""
    from refti.reports.pdf import BROWSERS  # brings much with it that most tests do without

    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Browser:
    """One tab of a headless Chromium that reaches no network."""

    def __init__(self, folder: Path) -> None:
        chromium = find_chromium()
        assert chromium is not None
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            chromium,
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        # Chromium reads file descriptor 3 and writes 4; a shell moves them there.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._numbers, self._buffer = itertools.count(1), b""
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Ends the browser, whatever it is doing."""
        self._process.terminate()
        self._process.wait(SECONDS)
        os.close(self._in)
        os.close(self._out)

    def show(self, page: Path, *, width: int, dark: bool = False, paper: bool = False) -> None:
        """Opens a page at some width, in the light or in the dark, on a screen or on paper."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call(
            "Emulation.setEmulatedMedia", media="print" if paper else "screen", features=[scheme]
        )
        self.events.clear()
        self._call("Page.navigate", url=page.resolve().as_uri())
        self._wait("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """What a script gives in the page."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """The addresses that the page asked for since it was opened, itself among them."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def photograph(self, file: Path) -> None:
        """Writes what is shown, from top to bottom, to a PNG."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16_000)}
        shot = self._call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip={**clip, "scale": 1}
        )
        file.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _wait(self, method: str) -> None:
        while not any(event["method"] == method for event in self.events):
            self._read()

    def _read(self) -> dict[str, Any]:
        """The next message; events are kept as well."""
        until = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer.")
            self._buffer += os.read(self._in, 1 << 16)
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message
