"""Update the translations from the texts of the interface.

    python tools/translations.py TEXTS.json [LOCALES]

`tools/texts.py` makes TEXTS.json. Writes `messages.pot`, and updates the .po files beside it.
Translations are kept, and new texts are added untranslated. Texts similar to an old one get its
translation, marked as fuzzy. Unused ones move to the end of the file as obsolete. LOCALES is the
folder of Blender's catalogs, whose translations fill in missing ones.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog, mofile, pofile

FOLDER = Path(__file__).resolve().parent.parent / "addon" / "translations"
LANGUAGES = {
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "ja": "Japanese",
    "zh_HANS": "Simplified Chinese",
}
"""The languages, by Blender's names."""

DEFAULT = "*"
PLACEHOLDER = re.compile(r"\{\w+[^}]*\}")
NO_DATE = datetime(2026, 1, 1, tzinfo=UTC)
"""Replaces all dates, so that the same texts give the same files."""

DEVELOPERS = "FABRIK IK developers"

HEADER = """\
# {language} translation of FABRIK IK.
# Copyright (C) 2026 FABRIK IK developers
# This file is distributed under the license of FABRIK IK.
#"""


def template(texts: list[tuple[str, str, str]]) -> Catalog:
    """Return the texts as a catalog without translations, in their order."""
    catalog = headed(Catalog(), "The")
    for context, text, location in texts:
        msgctxt = None if context == DEFAULT else context
        catalog.add(text, context=msgctxt, locations=[(location, 0)])
    return catalog


def read(name: str, language: str) -> Catalog:
    """Return a translation, empty if its file does not exist yet."""
    path = FOLDER / f"{name}.po"
    if path.exists():
        with path.open("rb") as file:
            catalog = pofile.read_po(file, locale=babel_name(name))
    else:
        catalog = Catalog(locale=babel_name(name))
    return headed(catalog, language)


def headed(catalog: Catalog, language: str) -> Catalog:
    """Set a catalog's header, and return it."""
    catalog.header_comment = HEADER.format(language=language)
    catalog.project, catalog.version = "FABRIK IK", "extension"
    catalog.copyright_holder = catalog.msgid_bugs_address = DEVELOPERS
    catalog.last_translator = catalog.language_team = DEVELOPERS
    catalog.creation_date = catalog.revision_date = NO_DATE
    catalog.fuzzy = False
    return catalog


def babel_name(name: str) -> str:
    """Return Babel's name of a language."""
    return {"zh_HANS": "zh_Hans"}.get(name, name)


def fill_in(catalog: Catalog, path: Path) -> int:
    """Fill in Blender's own translations, and return the number of texts it has."""
    with path.open("rb") as file:
        native = mofile.read_mo(file)
    count = 0
    for message in catalog:
        blender_message = native.get(message.id, message.context) if message.id else None
        if blender_message is not None and blender_message.string:
            count += 1
            message.string = message.string or blender_message.string
    return count


def write(path: Path, catalog: Catalog) -> None:
    """Write a catalog without line numbers, with only the flag of placeholders."""
    for message in catalog:
        message.flags.discard("python-format")
        message.flags.discard("python-brace-format")
        if PLACEHOLDER.search(str(message.id)):
            message.flags.add("python-brace-format")
    with path.open("wb") as file:
        pofile.write_po(file, catalog, width=100, include_lineno=False)


def main(texts: Path, locales: Path | None) -> None:
    """Update all files."""
    rows = json.loads(texts.read_text(encoding="utf-8"))
    FOLDER.mkdir(exist_ok=True)
    write(FOLDER / "messages.pot", template(rows))
    for name, language in LANGUAGES.items():
        catalog = read(name, language)
        # Each needs a new template, since Babel moves the new messages.
        catalog.update(template(rows), update_header_comment=False)
        catalog.creation_date = NO_DATE
        counts = ""
        if locales is not None:
            native_count = fill_in(catalog, locales / name / "LC_MESSAGES" / "blender.mo")
            counts = f", {native_count} in Blender's own catalogue"
        fuzzy = sum(message.fuzzy for message in catalog if message.id)
        done = sum(bool(message.string) for message in catalog if message.id) - fuzzy
        write(FOLDER / f"{name}.po", catalog)
        print(f"{name}: {done} of {len(catalog)} translated, {fuzzy} fuzzy{counts}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
