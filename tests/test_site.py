"""The documentation site: it builds strictly, links lead somewhere, nothing comes from afar."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from support.browser import chromium
from support.places import ROOT

CONFIGURATION = (ROOT / "mkdocs.yml").read_text("utf-8")
INDEX = "# All\n\n[readme](../README.md)\n\n**Guides**, some\n\n- [One](one.md)\n"


def script() -> ModuleType:
    """Load scripts/build_site.py."""
    path = ROOT / "scripts" / "build_site.py"
    spec = importlib.util.spec_from_file_location("build_site", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


SITE = script()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _zensical()
    target = tmp_path_factory.mktemp("built") / "site"
    SITE.build(target)
    return target


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a small repository, to plant faults in."""
    _zensical()
    (tmp_path / "docs").mkdir()
    (tmp_path / "ci").mkdir()
    (tmp_path / "mkdocs.yml").write_text(CONFIGURATION, encoding="utf-8")
    (tmp_path / "README.md").write_text("# Read me\n\n## Begin\n\n[all](docs/index.md)\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n")
    (tmp_path / "ci" / "job.yml").write_text("job: {}\n")
    (tmp_path / "docs" / "index.md").write_text(f"{INDEX}- [Log](../CHANGELOG.md)\n")
    (tmp_path / "docs" / "one.md").write_text("# One\n\n## A part\n\nText.\n")
    return tmp_path


def _zensical() -> None:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("no zensical in this environment")


def trouble(repository: Path) -> str:
    with pytest.raises(SITE.SiteError) as raised:
        SITE.build(repository / "site", repository)
    assert not (repository / "site").exists()
    return str(raised.value)


def test_every_page_is_built(built: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (built / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page
    for name in ("readme.html", "changelog.html", "files/ci/github-workflow.yml"):
        assert (built / name).is_file(), name
    home = (built / "index.html").read_text("utf-8")
    assert "Audit a running fleet" in home
    assert list(SITE.check(built)) == []


def test_opening_it_asks_for_nothing_elsewhere(built: Path) -> None:
    with chromium() as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index.html", "readme.html", "guide/audit.html", "compare.html"):
            page.goto((built / name).as_uri())
            assert page.locator("h1").first.is_visible()
        page.wait_for_load_state("networkidle")
    assert len(asked) > 4
    assert {url.partition(":")[0] for url in asked} <= {"file", "data", "blob"}


def test_a_small_one_builds_and_takes_along_what_it_links_to(repository: Path) -> None:
    one = repository / "docs" / "one.md"
    one.write_text(
        "# One\n\n[job](../ci/job.yml), [folder](../ci), [begin](../README.md#begin)\n\n"
        "```md\n[kept](../nowhere.md)\n```\n"
    )
    SITE.build(repository / "site", repository)
    assert (repository / "site/files/ci/job.yml").read_text() == "job: {}\n"
    text = (repository / "site/one.html").read_text("utf-8")
    assert re.search(r'href="files/ci/job.yml"', text)
    assert re.search(r'href="readme.html#begin"', text)
    assert "nowhere.md" in text
    assert "folder</a>" not in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gone](gone.md)", "page does not exist"),
        ("[part](one.md#no-part)", "anchor does not exist"),
        ("[part](#no-part)", "anchor does not exist"),
        ("[log](../CHANGELOG.md#no-part)", "anchor does not exist"),
        ("![picture](gone.png)", "gone.png"),
        (
            "![picture](https://cdn.example.net/a.png)",
            "one.html loads https://cdn.example.net/a.png",
        ),
        ('<script src="//cdn.example.net/a.js"></script>', "loads //cdn.example.net/a.js"),
        ('<a href="gone.html">x</a>', "one.html links to gone.html, which is not there"),
    ],
)
def test_a_fault_stops_the_build(repository: Path, text: str, told: str) -> None:
    (repository / "docs" / "one.md").write_text(f"# One\n\n## A part\n\n{text}\n")
    assert told in trouble(repository)


def test_a_page_that_the_contents_do_not_name_stops_the_build(repository: Path) -> None:
    (repository / "docs" / "two.md").write_text("# Two\n")
    assert trouble(repository) == "docs/index.md does not name two.md"


def test_a_font_from_elsewhere_would_be_seen(repository: Path) -> None:
    assert "font: false" in CONFIGURATION
    told = re.sub(r"font: false[^\n]*", "font: {text: Roboto}", CONFIGURATION)
    (repository / "mkdocs.yml").write_text(told)
    assert "loads https://" in trouble(repository)


def test_the_navigation_is_the_table_of_contents(repository: Path) -> None:
    (repository / "work").mkdir()
    SITE.Stage(repository, repository / "work").lay()
    told = cast("list[dict[str, object]]", SITE.contents(repository / "work"))
    assert told == [
        {"Start": "index.md"},
        {"Five minutes": "readme.md"},
        {"Guides": [{"One": "one.md"}, {"Log": "changelog.md"}]},
    ]
