"""The manual's page of messages, from the source's texts and the advice in `advice.toml`.

`tools/reference.py` writes the page. It lists each message once, in the section of its module.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

from tools import texts

PAGE = texts.ROOT / "docs" / "messages.md"
ADVICE = Path(__file__).with_name("advice.toml")

HEAD = """\
# Messages

All messages of panels, tooltips and reports. “…” stands for a name or a number: search the page for
another word of the message. The tooltip of a gray button says why it is gray. A message in red or
with a warning sign is also in the Info editor.
"""


def sections() -> list[dict[str, Any]]:
    """Return the sections of the page: title, modules, advice by message."""
    return tomllib.loads(ADVICE.read_text(encoding="utf-8"))["section"]


def messages_of(sections: list[dict[str, Any]]) -> list[list[str]]:
    """Return the messages of each section, in alphabetical order.

    Raises:
        ValueError: If the module of a message is not in any section.
    """
    lists: list[list[str]] = [[] for _ in sections]
    for message, module in texts.messages().items():
        beginnings = [
            (len(beginning), number)
            for number, section in enumerate(sections)
            for beginning in section["modules"]
            if module.startswith(beginning)
        ]
        if not beginnings:
            raise ValueError(f"no section of {ADVICE.name} has the messages of {module}")
        lists[max(beginnings)[1]].append(message)
    return [sorted(messages, key=lambda text: text.strip("“…” ").lower()) for messages in lists]


def messages_page() -> str:
    """Return the page: in each section, messages with advice come first."""
    return "\n".join([HEAD, *_lines()])


def _lines() -> Iterator[str]:
    listed = sections()
    for section, messages in zip(listed, messages_of(listed), strict=True):
        advice = section["advice"]
        yield f"## {section['title']}\n"
        if "intro" in section:
            yield f"{section['intro']}\n"
        for message in messages:
            if message in advice:
                yield f"- {message}\n\n{indent(advice[message], ' ' * 4)}\n"
        plain = [f"- {message}" for message in messages if message not in advice]
        if plain:
            yield "\n".join(plain) + "\n"
