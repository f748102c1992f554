"""What the tests of the page in a browser stand on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.browser import Site, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as started:
        yield started


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as started:
        yield started


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    opened = context.new_page()
    yield opened
    context.close()
