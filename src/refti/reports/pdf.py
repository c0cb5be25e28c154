"""PDF: a page printed by Chromium, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from refti.errors import SettingsError
from refti.results.files import write_bytes

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 120


def find_browser() -> str:
    """The address of Chromium. Raises SettingsError, with what installs it, if there is none."""
    for name in BROWSERS:
        found = shutil.which(name)
        if found is not None:
            return found
    raise SettingsError(
        "A PDF is printed by Chromium, which was not found. Install it (on Debian: apt-get install "
        "chromium), or write HTML and print it from any browser."
    )


def write_pdf(browser: str, page: str, file: Path) -> None:
    """Prints a page to a file. Raises SettingsError if the browser does not."""
    with tempfile.TemporaryDirectory(prefix="refti-") as folder:
        source, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            f"--print-to-pdf={printed}",
            source.as_uri(),
        ]
        if os.geteuid() == 0:  # Chromium does not start its sandbox for the superuser
            command.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SettingsError(
                f"{browser} did not print the report: {error}. Write HTML and print it from any "
                "browser."
            ) from error
        if not printed.exists():
            raise SettingsError(
                f"{browser} did not print the report: {done.stderr.strip()[-400:]} Write HTML and "
                "print it from any browser."
            )
        write_bytes(file, printed.read_bytes())
