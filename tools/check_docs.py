"""Check the links and words of README, CONTRIBUTING, listing and manual, without building the site.

A link to a missing file, picture or heading fails. So does a page missing from the navigation, an
entry without its page, and a picture that no page shows. `zensical build --strict`, which builds
the site, does not report pictures and the navigation. The worst turns of phrase fail too, in the
manual, the interface and docstrings.
"""

from __future__ import annotations

import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PICTURES = DOCS / "images"
MESSAGES = ROOT / "addon" / "translations" / "messages.pot"
STYLE_GUIDE = DOCS / "style-guide.md"
OUTSIDE = ("README.md", "CONTRIBUTING.md", "listing/README.md")
"""The pages that are not part of the manual."""
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)")
MESSAGE = re.compile(r'^msgid (?:".*"\n)+', re.MULTILINE)
CODE = ("addon", "solver/src")
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
TURNS = (
    "is no (?:active|bone|child|ground|hold|target|tip)",
    "are (?:none|no children)",
    "nothing tells",
    "tells (?:an?|one|what|where|which)",
    "(?:is|are) told",
    "(?:goes|went) along",
    "go along with (?:it|them|the)",
    "goes over (?:from|in|to)",
    "goes back to (?:its|their) own",
    "hangs? on (?:a|an|it|the)",
    "stays? where (?:it|they) (?:is|are|was|were)",
    "where (?:its|their) (?:constraint has|own keys put) (?:it|them)",
    "(?:is|are|was|were) there already",
    "side (?:of the bend|to which)",
    "means? (?:its|those)",
    "said to be",
    "has to be (?:done|found|looked|said)",
    "shall",
    "who (?:gives|lifts|needs|waves)",
    "of then",
    "such as are",
    "(?:that|those) which",
    "none such",
    "whose place",
    "put there",
    "by those that",
    "has (?:none|nothing) of its own",
    "which (?:is|are) no",
    "(?:has|have) it that",
    "as such are",
)
"""Turns of phrase that nobody who grew up with English writes; see the style guide."""
TURN = re.compile(rf"\b(?:{'|'.join(TURNS)})\b".replace(" ", r"\s+"), re.IGNORECASE)


def anchors_of(text: str) -> list[str]:
    """Return the anchors of a page's headings in order, as Python-Markdown makes them."""
    anchors: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
        name = slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        count = 0
        while name in anchors:
            count += 1
            name = f"{slug}_{count}"
        anchors.append(name)
    return anchors


def links_of(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures, except those on other sites."""
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    return [link for link in LINK.findall(text) if "://" not in link and "mailto:" not in link]


def broken_links(pages: list[Path]) -> Iterator[str]:
    """Yield a sentence for each broken link."""
    for page in pages:
        for link in links_of(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            where = f"{page.relative_to(ROOT)}: the link {link}"
            if not target.is_file():
                yield f"{where} leads to a missing file"
            elif DOCS in page.parents and DOCS not in target.parents:
                yield f"{where} leads out of the manual, which is built without it"
            elif anchor and anchor not in anchors_of(target.read_text(encoding="utf-8")):
                yield f"{where} leads to a missing heading"


def entries(nav: Any) -> Iterator[str]:
    """Yield the pages of the navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from entries(part)


def turns_of_phrase(pages: list[Path]) -> Iterator[str]:
    """Yield a sentence for each turn of phrase that should be rewritten, with its line."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for match in TURN.finditer(text):
            yield _turn_at(page, text, match.start(), match[0])
    text = MESSAGES.read_text(encoding="utf-8")
    for message in MESSAGE.finditer(text):
        for match in TURN.finditer("".join(re.findall(r'"(.*)"', message[0]))):
            yield _turn_at(MESSAGES, text, message.start(), match[0])
    for source in (source for folder in CODE for source in sorted((ROOT / folder).rglob("*.py"))):
        text = source.read_text(encoding="utf-8")
        for docstring in DOCSTRING.finditer(text):
            for match in TURN.finditer(docstring[1]):
                yield _turn_at(source, text, docstring.start(1) + match.start(), match[0])


def _turn_at(page: Path, text: str, position: int, turn: str) -> str:
    line = text.count("\n", 0, position) + 1
    return f"{page.relative_to(ROOT)}:{line}: rewrite “{' '.join(turn.split())}”"


def problems() -> Iterator[str]:
    """Yield a sentence for each problem."""
    manual = sorted(DOCS.rglob("*.md"))
    pages = [*(ROOT / page for page in OUTSIDE), *manual]
    yield from broken_links(pages)
    yield from turns_of_phrase([page for page in pages if page != STYLE_GUIDE])
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    listed = [DOCS / entry for entry in entries(nav)]
    for page in manual:
        if listed.count(page) != 1:
            times = listed.count(page)
            yield f"zensical.toml: {page.relative_to(DOCS)} is listed {times} times, not once"
    yield from (f"zensical.toml: {page} is missing" for page in listed if not page.is_file())
    shown = {(page.parent / link).resolve() for page in pages for link in links_of(page)}
    for picture in sorted(PICTURES.iterdir()):
        if picture not in shown:
            yield f"{picture.relative_to(ROOT)} isn't shown on any page"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) or "The manual's links work, and its words are plain.")
    sys.exit(1 if found else 0)
