"""A headless Chromium for the tests of pages, where Debian's packages `chromium` and `chromium-driver` are there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


class Browser:
    """One window. Everything goes through the driver, so that a page is met as a reader meets it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def look(self, page: Path, width: int = 1280, dark: bool = False, script: bool = True) -> None:
        """Open `page` in a window of that width, with the colours that the system asks for."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        colours = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        self.driver.get_log("browser")
        self.driver.get(page.as_uri())

    def ask(self, expression: str, *arguments: Any) -> Any:
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return {expression}", *arguments)

    def visible(self, selector: str) -> list[str]:
        """Texts of the elements that a reader sees."""
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return [element.text for element in found if element.is_displayed()]

    def press(self, selector: str) -> None:
        """Click the first such element."""
        element = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.click()

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.driver.find_element(By.CSS_SELECTOR, selector).send_keys(text)

    def choose(self, selector: str, text: str) -> None:
        """Choose an entry of a list by its text, with the keyboard's event."""
        self.driver.execute_script(
            "const [list, text] = [document.querySelector(arguments[0]), arguments[1]];"
            "list.value = [...list.options].find((option) => option.textContent === text).value;"
            "list.dispatchEvent(new Event('input', {bubbles: true}));",
            selector,
            text,
        )

    def complaints(self) -> list[str]:
        """What stands on the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def opened(home: Path) -> Iterator[Browser]:
    """A browser of its own, with its data in `home`. Skips the test in one line where there is none."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("the page was not looked at in a browser: install Debian's chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={home}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
