"""Translations of the interface: a file per language in the folder `translations`.

They are .po files as written by translation tools, so the edited files are shipped as they are.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

import bpy

from ..blender.messages import DEFAULT

PACKAGE = __name__.removesuffix(".app.languages")

STRING = r'".*"(?:\n".*")*'
ENTRY = re.compile(
    rf"^(#, .*\n(?:#\|.*\n)*)?(?:msgctxt ({STRING})\n)?msgid ({STRING})\nmsgstr ({STRING})$",
    re.MULTILINE,
)
"""Flags, context, text and translation of an entry; `#~` starts obsolete entries."""

Catalog = dict[tuple[str, str], str]
"""Translations by context and English text, in the form that Blender expects."""


def read(contents: str) -> Catalog:
    """Read the translations of a .po file, except missing and fuzzy ones."""
    return {
        (_string(context) if context else DEFAULT, _string(text)): _string(translation)
        for flags, context, text, translation in ENTRY.findall(contents)
        if translation != '""' and text != '""' and "fuzzy" not in flags
    }


def _string(quoted: str) -> str:
    """Join the lines of a quoted string, which has JSON's escapes."""
    joined = quoted.replace('"\n"', "")
    return json.loads(joined) if "\\" in joined else joined[1:-1]


def catalogs() -> dict[str, Catalog]:
    """Return the translations by Blender's language codes."""
    entries = sorted(files(PACKAGE).joinpath("translations").iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".po"): read(file.read_text(encoding="utf-8"))
        for file in entries
        if file.name.endswith(".po")
    }


def register() -> None:
    """Add the translations to Blender."""
    bpy.app.translations.register(PACKAGE, catalogs())


def unregister() -> None:
    """Remove the translations from Blender."""
    bpy.app.translations.unregister(PACKAGE)
