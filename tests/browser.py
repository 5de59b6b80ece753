"""Chromium without a window, for the tests that open pages; skipped on a machine that has none, but not in CI."""

import os
import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")

needs_browser = pytest.mark.skipif(
    not CHROMIUM and not os.environ.get("CI"), reason="no Chromium: install it, or set CHROMIUM to its path"
)


@contextmanager
def launched():
    """A browser, closed in the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def wait_until(page, expression):
    """Wait until an expression in JavaScript is true. That of Playwright is forbidden by the policy of a report."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"not true within five seconds: {expression}")
