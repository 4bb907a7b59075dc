"""A person with a real browser on a real server."""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDE, NARROW = 1400, 390
CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no chromium here (Debian: apt-get install chromium): the page was NOT tried in a browser",
)


@contextmanager
def chromium():
    """The browser; while it runs, no other loop of asyncio can in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person's window on the page, and what went wrong in it."""

    def __init__(self, browser, server, width=WIDE, scheme="light"):
        self.base = f"http://127.0.0.1:{server.port}"
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.faults = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda fault: self.faults.append(f"error: {fault}"))
        self.page.on("request", self._asked)

    def _said(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _asked(self, request):
        inside = ("data:", "blob:", f"{self.base}/", self.base.replace("http", "ws"))
        if not request.url.startswith(inside):
            self.faults.append(f"outside: {request.url}")

    def open(self, path):
        self.page.goto(self.base + path)
        return self.page

    def until_printed(self, text):
        """Waits for the block of words that a command prints."""
        self.page.wait_for_function(
            "text => [...document.querySelectorAll('pre')].some(one => one.textContent === text)", arg=text
        )

    def until(self, text):
        self.page.get_by_text(text).filter(visible=True).first.wait_for()

    def field(self, label):
        return self.page.get_by_label(label, exact=True)

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def tab_to(self, locator, most=80):
        """Tabulator, until the element has the focus."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if locator.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"keys never reach {locator}")
