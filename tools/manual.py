"""Write the extension's offline manual in build/manual: pages for a browser.

`make docs` builds the site. This is the same text without scripts, and with stills instead of
films, so that it is small. Each operator and property has a page in `at` that redirects to its
section of the reference. Browsers opened with a file often drop the part after a #.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from html import escape
from pathlib import Path
from posixpath import relpath
from typing import Any

from check_docs import DOCS, ROOT, anchors_of
from markdown_it import MarkdownIt  # pyright: ignore[reportMissingImports]
from PIL import Image

FOLDER = ROOT / "build" / "manual"

WIDEST = 1200
"""The greatest width of a picture, in pixels."""

QUALITY = 80
"""The quality of pictures, from 0 to 100."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title} – FABRIK IK</title>
<link rel="stylesheet" href="{top}style.css">
</head>
<body>
<nav>
{navigation}
</nav>
<main>
{text}
</main>
</body>
</html>
"""

STYLE = """:root { color-scheme: light dark; --line: #8886; --code: #8882; }
body { display: flex; gap: 2em; margin: 0 auto; max-width: 75em; padding: 1em;
  font: 1em/1.5 system-ui, sans-serif; }
nav { flex: 0 0 13em; font-size: .9em; }
nav ul { list-style: none; margin: 0 0 1em; padding: 0; }
main { flex: 1; min-width: 0; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid var(--line); padding: .2em .6em; text-align: left; vertical-align: top; }
code { background: var(--code); padding: 0 .2em; }
pre { background: var(--code); overflow-x: auto; padding: .6em; }
pre code { background: none; padding: 0; }
:target { outline: 2px solid #f5792a; }
@media (max-width: 50em) { body { display: block; } nav { columns: 2; } }
"""

LEADING = """<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={url}">
<title>FABRIK IK</title>
<a href="{url}">{url}</a>
"""
"""A page that redirects to another."""

LINK = re.compile(r'(<(?:a href|img src)=")([^":#]+)((?:#[^"]*)?")')
ROW = re.compile(r"<tr>(\n<td[^>]*>.*?</td>\n<td[^>]*><code>(\w+)</code></td>)")


class Manual:
    """Writes the manual."""

    def __init__(self) -> None:
        """Read the navigation."""
        config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
        self.nav: list[dict[str, Any]] = config["project"]["nav"]
        self.markdown = MarkdownIt("commonmark").enable("table")
        self.places: dict[str, str] = {}
        self.pictures: set[Path] = set()

    def write(self) -> None:
        """Write all pages, the pictures they show, and the redirects."""
        shutil.rmtree(FOLDER, ignore_errors=True)
        for page in sorted(DOCS.rglob("*.md")):
            path = page.relative_to(DOCS).with_suffix(".html")
            _write(path, self._page(page))
        for picture in sorted(self.pictures):
            _write_picture(picture)
        for name, url in self.places.items():
            _write(Path("at", f"{name}.html"), LEADING.format(url=f"../{url}"))
        _write(Path("style.css"), STYLE)

    def _page(self, page: Path) -> str:
        source = page.read_text(encoding="utf-8")
        name = page.relative_to(DOCS).with_suffix(".html").as_posix()
        text = _with_anchors(self.markdown.render(source), anchors_of(source))
        if page.parent.name == "reference":
            text = self._with_places(text, name)
        top = "../" * (len(page.relative_to(DOCS).parts) - 1)
        return PAGE.format(
            title=escape(_title(page)),
            top=top,
            navigation=self._navigation(name),
            text=LINK.sub(lambda match: self._link(match, page), text),
        )

    def _link(self, match: re.Match[str], page: Path) -> str:
        """Return a link to a page or picture under its name in this manual."""
        target = page.parent / match[2]
        if target.suffix == ".md":
            return f"{match[1]}{match[2][:-3]}.html{match[3]}"
        self.pictures.add(target.resolve())
        name = match[2] if target.suffix == ".svg" else f"{match[2].rpartition('.')[0]}.webp"
        return f"{match[1]}{name}{match[3]}"

    def _with_places(self, text: str, name: str) -> str:
        """Give each row of settings an anchor, and record the links of rows and operators."""
        parts = re.split(r'(?=<h2 id=")', text)
        for i, part in enumerate(parts[1:], 1):
            heading = re.match(r'<h2 id="([^"]*)">(.*?)</h2>', part)
            assert heading is not None, part
            owner = heading[2].rpartition(": ")[2].replace("[…]", "")
            if ": " in heading[2]:
                self.places[owner] = f"{name}#{heading[1]}"
                continue

            def row(match: re.Match[str], owner: str = owner) -> str:
                anchor = f"{owner}.{match[2]}".lower()
                self.places[anchor] = f"{name}#{anchor}"
                return f'<tr id="{anchor}">{match[1]}'

            parts[i] = ROW.sub(row, part)
        return "".join(parts)

    def _navigation(self, name: str) -> str:
        """Return the list of all pages, as links relative to a page."""
        lines: list[str] = []
        for entry in self.nav:
            ((title, pages),) = entry.items()
            if isinstance(pages, list):
                lines.append(f"<b>{escape(title)}</b>")
            lines.append("<ul>")
            for page in pages if isinstance(pages, list) else [pages]:
                url = relpath(page[:-3] + ".html", Path(name).parent.as_posix())
                current = ' aria-current="page"' if page[:-3] + ".html" == name else ""
                lines.append(f'<li><a href="{url}"{current}>{escape(_title(DOCS / page))}</a></li>')
            lines.append("</ul>")
        return "\n".join(lines)


def _title(page: Path) -> str:
    """Return the first heading of a page."""
    return page.read_text(encoding="utf-8").partition("# ")[2].partition("\n")[0]


def _with_anchors(text: str, anchors: list[str]) -> str:
    """Give the headings of a page their anchors."""
    remaining = iter(anchors)
    return re.sub(r"<(h\d)>", lambda match: f'<{match[1]} id="{next(remaining)}">', text)


def _write(path: Path, text: str) -> None:
    (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / path).write_text(text, encoding="utf-8")


def _write_picture(picture: Path) -> None:
    """Write a picture, shrunk and converted; of a film, its middle frame."""
    path = FOLDER / picture.relative_to(DOCS)
    path.parent.mkdir(parents=True, exist_ok=True)
    if picture.suffix == ".svg":
        shutil.copy(picture, path)
        return
    with Image.open(picture) as film:
        film.seek(getattr(film, "n_frames", 1) // 2)
        still = film.convert("RGBA" if film.mode in ("RGBA", "LA", "PA") else "RGB")
    still.thumbnail((WIDEST, WIDEST))
    still.save(path.with_suffix(".webp"), quality=QUALITY)


if __name__ == "__main__":
    Manual().write()
    files = [file for file in FOLDER.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    print(f"{FOLDER.relative_to(ROOT)}: {len(files)} files, {size / 1e6:.1f} MB")
