"""A comparison to report on, and a browser to look at pages with."""

import shutil
import tempfile

import pytest

from tests.report.page.instances import make_results

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Three schemes from three seeds; read it, and change a copy."""
    return make_results(tmp_path_factory.mktemp("comparison") / "results")


@pytest.fixture
def copy(results, tmp_path):
    """The same, to be changed."""
    return shutil.copytree(results, tmp_path / "results")


@pytest.fixture(scope="session")
def driver():
    """A headless Chromium that keeps what it logs and what it asks the network for."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None or shutil.which("chromedriver") is None:
        pytest.skip("no Chromium here: `make browser` installs it, with chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        made = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        yield made
        made.quit()
