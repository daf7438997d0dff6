"""Every text that users see can be translated, and no translation has lost anything."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import bpy
import pytest
from rigs import add_constraint, make_chain, update

from addon.app import languages
from addon.blender import messages
from addon.blender.errors import ProblemError, listed
from addon.blender.messages import CONTEXT, DEFAULT, OTHER_SENSE, counted, joined, msg, shown
from addon.ui import layout
from tools import texts

FOLDER = texts.ADDON / "translations"
FILES = sorted(FOLDER.glob("*.po*"))
TRANSLATIONS = [path for path in FILES if path.suffix == ".po"]

UNFINISHED: set[str] = set()
"""The languages that have not been translated yet; to be removed from here once they are."""

ENGLISH = {"print", "report_once", "contained", "update"}
ENGLISH |= {"ValueError", "AssertionError", "ImportError"}
"""Texts on the console, for developers, in custom properties, and before anything is registered
aren't translated."""


def by_name(path: Path) -> str:
    return path.stem


Entries = list[tuple[tuple[str, str], str, bool]]
"""Context and text, translation, and whether it is fuzzy."""


def entries(path: Path) -> Entries:
    """The entries of a file that are in use, read with another parser than the add-on's own."""
    found: Entries = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = block.splitlines()
        parts: dict[str, str] = {}
        key = ""
        for line in lines:
            if line.startswith("#"):
                continue
            word, _, quoted = line.partition(" ") if line.startswith("msg") else (key, "", line)
            key = word
            parts[key] = parts.get(key, "") + ast.literal_eval(quoted)
        is_fuzzy = any(line.startswith("#,") and "fuzzy" in line for line in lines)
        if parts.get("msgid"):
            place = (parts.get("msgctxt", DEFAULT), parts["msgid"])
            found.append((place, parts["msgstr"], is_fuzzy))
    return found


# All texts are found


@cache
def all_texts() -> list[texts.Text]:
    return texts.all_texts()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_text_is_missing_and_none_is_left_over(path: Path) -> None:
    wanted = {(one.context, one.text): one.place for one in all_texts()}
    there = {place for place, _, _ in entries(path)}
    missing = [(place, wanted[place]) for place in wanted if place not in there]
    assert not missing, "run `make translations`"
    assert there <= wanted.keys(), "run `make translations`"


@cache
def sources() -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for file in sorted(texts.ADDON.rglob("*.py")):
        name = file.relative_to(texts.ADDON).as_posix()
        if not name.startswith(texts.NOT_SHOWN):
            found.append((name, ast.parse(file.read_text(encoding="utf-8"))))
    return found


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


def callee(node: ast.AST) -> str:
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def is_sentence(text: str) -> bool:
    """Whether a string looks like something to read, and not like a name, path or expression."""
    return re.match(r"[A-Z“][^=()]*[^\W\d_]{2,} [^=(){}]*[a-z]{2}", text) is not None


def test_every_sentence_in_the_source_is_found() -> None:
    known = {one.text for one in (*all_texts(), *texts.hidden_texts())}
    lost = []
    for name, tree in sources():
        parents = parents_of(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if node.value in known or not is_sentence(node.value):
                continue
            above = list(around(node, parents))
            if isinstance(above[0], (ast.Expr, ast.JoinedStr)) or ENGLISH & set(map(callee, above)):
                continue
            lost.append(f"{name}:{node.lineno}: {node.value}")
    assert not lost, "wrap it in msg(), or run `make translations` if it is the text of a property"


def test_no_message_is_an_f_string() -> None:
    # Their texts cannot be found, and are formatted before they could be translated.
    lost = []
    for name, tree in sources():
        parents = parents_of(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.JoinedStr):
                continue
            text = "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
            is_message = callee(parents[node]) in texts.MESSAGES
            if is_message or re.search(r"[a-z]{2,} [a-z]{2,}|“", text):
                calls = set(map(callee, around(node, parents)))
                if not calls & ENGLISH and name != "blender/axes.py":  # Tooltips of enum items.
                    lost.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not lost, "use msg() with placeholders"


def test_what_is_reported_is_shown_in_the_users_language() -> None:
    lost = []
    for name, tree in sources():
        for node in ast.walk(tree):
            setters = ("report", "poll_message_set", "header_text_set", "status_text_set")
            if callee(node) not in setters or not isinstance(node.func, ast.Attribute):
                continue
            said = node.args[-1]
            is_nothing = isinstance(said, ast.Constant) and said.value is None
            # What `say` reports is shown before it is shortened.
            if is_nothing or ast.unparse(said) == "_draw_keys" or name.endswith("reporting.py"):
                continue
            if callee(said) != "shown":
                lost.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not lost


def test_blender_translates_no_text_of_a_layout_that_is_translated_or_a_name() -> None:
    lost = []
    for name, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            given = {one.arg: one.value for one in node.keywords}
            if "text" not in given or not isinstance(node.func, ast.Attribute):
                continue
            if not list(texts.literals(given["text"])) and "translate" not in given:
                lost.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not lost


def test_labels_in_another_sense_than_blenders_have_a_context_of_their_own() -> None:
    found = {(one.context, one.text) for one in all_texts()}
    assert {text for context, text in found if context == CONTEXT} >= OTHER_SENSE
    assert not [text for context, text in found if context == DEFAULT and text in OTHER_SENSE]


# Translations are whole


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.xfail(strict=True) if path.stem in UNFINISHED else ())
        for path in TRANSLATIONS
    ],
    ids=by_name,
)
def test_a_translation_is_complete(path: Path) -> None:
    assert not [place for place, translation, fuzzy in entries(path) if fuzzy or not translation]


@pytest.mark.parametrize("path", TRANSLATIONS, ids=by_name)
def test_a_translation_has_the_placeholders_of_the_text(path: Path) -> None:
    lost = [
        (text, translation)
        for (_, text), translation, fuzzy in entries(path)
        if translation and not fuzzy and placeholders(text) != placeholders(translation)
    ]
    assert not lost


def placeholders(text: str) -> set[tuple[str, str]]:
    """The fields of a format string; a translation may use one more than once."""
    return {(name, spec or "") for _, name, spec, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("path", TRANSLATIONS, ids=by_name)
def test_a_translation_begins_and_ends_as_the_text_does(path: Path) -> None:
    # Chinese and Japanese have no spaces between words.
    is_loose = path.stem in ("ja", "zh_HANS")
    lost = []
    for (_, text), translation, fuzzy in entries(path):
        if not translation or fuzzy:
            continue
        for stripped in (str.lstrip, str.rstrip):
            there = len(text) - len(stripped(text))
            here = len(translation) - len(stripped(translation))
            if here != there and not (is_loose and here == 0):
                lost.append((text, translation))
        if text.endswith(".") != translation.endswith((".", "。", "．")):  # noqa: RUF001
            lost.append((text, translation))
    assert not lost


def test_the_add_on_reads_its_files_as_others_do() -> None:
    for path in TRANSLATIONS:
        wanted = {place: text for place, text, fuzzy in entries(path) if text and not fuzzy}
        assert languages.read(path.read_text(encoding="utf-8")) == wanted
    assert languages.catalogs().keys() == {path.stem for path in TRANSLATIONS}


def test_missing_fuzzy_and_obsolete_translations_are_not_read() -> None:
    contents = "\n".join(
        (
            'msgid ""',
            'msgstr "Language: es"',
            "",
            "#: addon/a.py",
            "#, python-brace-format",
            'msgctxt "FABRIK IK"',
            'msgid "one “{a}” \\"b\\""',
            'msgstr ""',
            '"uno "',
            '"“{a}” \\"b\\"\\n"',
            "",
            'msgid "two"',
            'msgstr ""',
            "",
            "#, fuzzy",
            '#| msgid "thirds"',
            'msgid "three"',
            'msgstr "tres"',
            "",
            '#~ msgid "four"',
            '#~ msgstr "cuatro"',
            "",
            'msgid "five"',
            'msgstr "cinco"',
            "",
        )
    )
    assert languages.read(contents) == {
        ("FABRIK IK", 'one “{a}” "b"'): 'uno “{a}” "b"\n',
        (DEFAULT, "five"): "cinco",
    }


# Messages


@pytest.fixture
def spanish(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Translations to fill, in place of Blender's: its wheels are built without any."""
    known: dict[str, str] = {}
    monkeypatch.setattr(messages, "_translated", lambda text: known.get(text, text))
    return known


def test_a_message_is_english_until_it_is_shown(spanish: dict[str, str]) -> None:
    spanish["“{bone}” is {angle:.1f}° off: {why}"] = "{why}: “{bone}” a {angle:.1f}°"
    spanish["no target"] = "sin objetivo"
    said = msg(
        "“{bone}” is {angle:.1f}° off: {why}", bone="no target", angle=1.26, why=msg("no target")
    )
    assert said == "“no target” is 1.3° off: no target"
    # A name that happens to be a text stays.
    assert shown(said) == "sin objetivo: “no target” a 1.3°"


def test_errors_lists_and_counts_remain_translatable(spanish: dict[str, str]) -> None:
    spanish.update(
        {
            "{names} and {last}": "{names} y {last}",
            "“{name}”": "«{name}»",
            "{count} key": "{count} clave",
            "{count} keys": "{count} claves",
            "Select {names}": "Seleccionar {names}",
        }
    )
    error = ProblemError("Select {names}", names=listed(["A", "B", "C"]))
    assert f"{error}" == "Select “A”, “B” and “C”"
    assert shown(str(error)) == "Seleccionar «A», «B» y «C»"
    assert shown(str(ProblemError(str(error)))) == "Seleccionar «A», «B» y «C»"
    keys = [counted(count, "{count} key", "{count} keys") for count in (0, 1, 2)]
    assert joined(", ", keys) == "0 keys, 1 key, 2 keys"
    assert shown(joined(", ", keys) + "") == "0 claves, 1 clave, 2 claves"
    assert shown(keys[1] + keys[2]) == "1 clave2 claves"


def test_braces_in_names_and_in_texts_without_values_are_characters() -> None:
    assert shown(msg("“{name}”", name="{odd} {")) == "“{odd} {”"
    assert shown(msg("a {b")) == "a {b"
    assert shown("{plain}") == "{plain}"


def test_the_message_of_a_constraint_is_stored_in_english_and_shown_translated(
    spanish: dict[str, str],
) -> None:
    spanish["No target: choose an object or a bone"] = "Sin objetivo"
    item = without_target()
    assert type(item.message) is str
    assert item.message == "No target: choose an object or a bone"
    assert shown(item.message) == "Sin objetivo"


def test_stored_messages_are_forgotten_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(messages, "_stored", {})
    monkeypatch.setattr(messages, "MOST_STORED", 3)
    for number in range(10):
        messages.store(msg("{number}", number=number))
        messages.store(f"plain {number}")
    assert len(messages._stored) <= 3
    assert isinstance(messages.recalled("9"), messages.Message)
    assert type(messages.recalled("0")) is str


def without_target() -> Any:
    """A constraint that lacks its target, and says so."""
    item = add_constraint(make_chain(3), "B2")
    update()
    return item


def test_sentences_without_spaces_are_broken_between_characters() -> None:
    found = layout.PARTS.findall("链条达不到目标、请移动“B2”。 One two")
    assert "".join(found) == "链条达不到目标、请移动“B2”。 One two"
    assert found[:3] == ["链", "条", "达"]
    assert "标、" in found
    assert found[-2:] == [" One", " two"]


# In Blender

HAS_LANGUAGES = bpy.app.build_options.international


@pytest.fixture
def view() -> Iterator[Any]:
    preferences: Any = bpy.context.preferences
    yield preferences.view
    preferences.view.language = "en_US"


@pytest.mark.skipif(not HAS_LANGUAGES, reason="the bpy wheels are built without languages")
@pytest.mark.parametrize("path", TRANSLATIONS, ids=by_name)
def test_blender_finds_the_translations(path: Path, view: Any) -> None:
    names = [one for one in bpy.app.translations.locales if one.startswith(path.stem)]
    view.language = names[0]
    translate = bpy.app.translations.pgettext_iface
    found = languages.catalogs()[path.stem]
    assert found
    # Blender's own translations come first, but it has none in our context.
    for (context, text), translation in found.items():
        assert translate(text, context) != text or translation == text
        if context == CONTEXT:
            assert translate(text, context) == translation


@pytest.mark.skipif(not HAS_LANGUAGES, reason="the bpy wheels are built without languages")
@pytest.mark.parametrize("path", TRANSLATIONS, ids=by_name)
def test_scripts_and_files_are_the_same_in_every_language(path: Path, view: Any) -> None:
    view.language = next(one for one in bpy.app.translations.locales if one.startswith(path.stem))
    item = without_target()
    assert item.message == "No target: choose an object or a bone"
    assert (item.state, item.bl_rna.properties["solver"].name) == ("INVALID", "Solver")
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    with pytest.raises(RuntimeError):
        bpy.ops.fabrik.constraint_move(direction="UP")


@pytest.mark.skipif(not HAS_LANGUAGES, reason="the bpy wheels are built without languages")
def test_labels_in_our_context_are_translated_in_our_sense(view: Any) -> None:
    view.language = "es"
    translations = bpy.app.translations
    assert translations.pgettext_iface("Chain") == "Encadenar"  # to chain
    translations.register("sense", {"es": {(CONTEXT, "Chain"): "Cadena", (DEFAULT, "Chain"): "-"}})
    try:
        assert translations.pgettext_iface("Chain") == "Encadenar"
        assert shown(msg("Chain")) == "Cadena"
        view.language = "en_US"
        assert shown(msg("Chain")) == "Chain"
    finally:
        translations.unregister("sense")


def test_in_english_nothing_changes() -> None:
    for one in all_texts():
        assert shown(msg(one.text)) == one.text
