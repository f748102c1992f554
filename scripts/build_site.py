#!/usr/bin/env python3
"""Build the documentation site from ``docs/``: ``scripts/build_site.py [DIR]``.

Without a folder it goes into ``site``.

The pages are laid out for the site first: those of the root become pages too, files outside of
``docs/`` that a page links to are taken along below ``files/``, and ``docs/index.md`` is the table
of contents, so a page that it does not name stops the build. Then the site is built strictly, and
every link of what came out is followed: to a page, to a place in it, to nothing on the network.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urldefrag

import yaml

ROOT = Path(__file__).resolve().parents[1]
CONTENTS = "index.md"
#: Pages that lie in the root of the repository, and what the site calls them.
ROOTED = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}
FILES = "files"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
#: Attributes by which a page loads something when it is opened, and where each stands.
LOADS = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}
ABROAD = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)
CSS_LOAD = re.compile(r"(?:url\(|@import)\s*['\"]?((?:[a-z]+:)?//[^'\")\s]+)", re.IGNORECASE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: Links that lead to the world by design: they are followed by a reader, and nothing loads them.
RELATIONS = {"canonical", "alternate", "prev", "next"}


class SiteError(Exception):
    """The site cannot be built as the pages stand; one line a trouble."""


@dataclass
class Stage:
    """The pages as the site wants them.

    Attributes:
        root: where the repository lies.
        folder: where they are laid.
        taken: files outside of the documentation that a page links to.
    """

    root: Path
    folder: Path
    taken: set[Path] = field(default_factory=set)

    @property
    def docs(self) -> Path:
        """The documentation in the repository."""
        return self.root / "docs"

    def lay(self) -> None:
        """Lay out all pages, the files that they link to, and the table of contents."""
        shutil.copytree(self.docs, self.folder, dirs_exist_ok=True)
        places = {self.docs / p.relative_to(self.folder): p for p in self.folder.rglob("*.md")}
        places |= {self.root / name: self.folder / page for name, page in ROOTED.items()}
        for source, place in sorted(places.items()):
            self._page(source, place)
        for source in sorted(self.taken):
            place = self.folder / FILES / source.relative_to(self.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".md":
                self._page(source, place)
            else:
                shutil.copyfile(source, place)

    def _page(self, source: Path, place: Path) -> None:
        text = source.read_text(encoding="utf-8")
        parts = FENCE.split(text)
        parts[::2] = [LINK.sub(lambda m: self._link(m, source, place), part) for part in parts[::2]]
        place.write_text("".join(parts), encoding="utf-8")

    def _link(self, match: re.Match[str], source: Path, place: Path) -> str:
        """Return a link as it reads on the site; to a folder there is none, only its words."""
        bang, words, link = match.groups()
        path, mark, anchor = link.partition("#")
        target = (source.parent / path).resolve()
        if target.is_dir() or source.is_relative_to(self.folder):
            return match[0] if bang else words
        moved = self._moved(target)
        if moved is None:
            return words
        up = "../" * len(place.relative_to(self.folder).parent.parts)
        return f"{bang}[{words}]({up}{moved}{mark}{anchor})"

    def _moved(self, target: Path) -> str | None:
        """Return where a file stands on the site, from its root."""
        if target.is_relative_to(self.docs):
            return str(target.relative_to(self.docs))
        name = str(target.relative_to(self.root)) if target.is_relative_to(self.root) else ""
        if name in ROOTED:
            return ROOTED[name]
        if not name or not target.is_file() or target.suffix == ".md":
            return None
        self.taken.add(target)
        return f"{FILES}/{name}"


def contents(folder: Path) -> list[Mapping[str, object]]:
    """Return the navigation that the table of contents tells: sections, and their pages.

    Raises:
        SiteError: a page is not named in it.
    """
    text = (folder / CONTENTS).read_text(encoding="utf-8")
    heads = list(SECTION.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found: list[Mapping[str, object]] = [{"Start": CONTENTS}, {"Five minutes": ROOTED["README.md"]}]
    named = {CONTENTS, ROOTED["README.md"]}
    for head, end in zip(heads, ends, strict=True):
        links = [(m[2], m[3]) for m in LINK.finditer(text[head.end() : end])]
        pages = [(words, link) for words, link in links if link.endswith(".md")]
        named |= {link for _, link in pages}
        found.append(
            {head[1].rstrip(","): [{words.replace("`", ""): link} for words, link in pages]}
        )
    every = {str(page.relative_to(folder)) for page in folder.rglob("*.md")}
    lost = sorted(every - named)
    if lost:
        raise SiteError("\n".join(f"docs/{CONTENTS} does not name {page}" for page in lost))
    return found


def build(target: Path, root: Path = ROOT) -> None:
    """Build the site into a folder, which is made anew, and follow every link of it.

    Raises:
        SiteError: a link leads nowhere, a page is not named, or a page would load from elsewhere.
    """
    with TemporaryDirectory(prefix="fleet-site-") as name:
        work = Path(name)
        Stage(root, work / "docs").lay()
        told = yaml.safe_load((root / "mkdocs.yml").read_text(encoding="utf-8"))
        told |= {"docs_dir": "docs", "site_dir": "site", "nav": contents(work / "docs")}
        (work / "mkdocs.yml").write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
        _built(work)
        troubles = list(check(work / "site"))
        if troubles:
            raise SiteError("\n".join(troubles))
        if target.exists():
            shutil.rmtree(target)
        shutil.move(work / "site", target)


def _built(work: Path) -> None:
    program = Path(sys.executable).parent / "zensical"
    ended = subprocess.run(
        [program, "build", "--strict", "-f", "mkdocs.yml"],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode or not (work / "site" / "index.html").is_file():
        told = COLOURS.sub("", f"{ended.stdout}{ended.stderr}").partition("Traceback ")[0]
        raise SiteError(told.strip())


class Built(HTMLParser):
    """One page of the built site: what can be pointed at, what it links to, what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one element."""
        told = {name: value or "" for name, value in attrs}
        self.anchors |= {told[name] for name in ("id", "name") if told.get(name)}
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        if tag in LOADS and told.get(LOADS[tag]) and told.get("rel") not in RELATIONS:
            self.loads.append(told[LOADS[tag]])


def check(site: Path) -> Iterator[str]:
    """Follow every link of a built site; yield what leads nowhere, and what leaves the site."""
    pages = {page: Built(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    for page, built in pages.items():
        name = page.relative_to(site)
        yield from (f"{name} {told}" for told in _loaded(site, page, built))
        yield from (f"{name} {told}" for told in _linked(site, page, pages))
    for sheet in sorted(site.rglob("*.css")):
        for link in CSS_LOAD.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site)} loads {link}"


def _loaded(site: Path, page: Path, built: Built) -> Iterator[str]:
    for link in built.loads:
        if ABROAD.match(link):
            yield f"loads {link}"
        elif not link.startswith("data:") and _target(site, page, link) is None:
            yield f"loads {link}, which is not there"


def _linked(site: Path, page: Path, pages: Mapping[Path, Built]) -> Iterator[str]:
    for link in pages[page].links:
        if ABROAD.match(link) or link.startswith(("mailto:", "javascript:")):
            continue
        target = _target(site, page, link)
        anchor = unquote(urldefrag(link).fragment)
        if target is None:
            yield f"links to {link}, which is not there"
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"links to {link}, a page without such a place"


def _target(site: Path, page: Path, link: str) -> Path | None:
    path = unquote(urldefrag(link).url).partition("?")[0]
    base = site if path.startswith("/") else page.parent
    found = (base / path.lstrip("/")).resolve() if path else page
    if found.is_dir():
        found = found / "index.html"
    inside = found.is_relative_to(site.resolve()) and found.is_file()
    return site / found.relative_to(site.resolve()) if inside else None


def main() -> int:
    """Build the site; returns the exit code."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    try:
        build(target)
    except SiteError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"built {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
