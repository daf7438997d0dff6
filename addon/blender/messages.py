"""Messages for the user: English when they are made, in the user's language when they are shown.

A message is made with `msg` wherever the code finds something out. It is an ordinary English
string, which can be compared, stored in the file and read by scripts whatever the language. Only
what draws or reports it calls `shown`, so that nothing is translated unless it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy

DEFAULT = bpy.app.translations.contexts.default
"""Blender's own context of most texts."""

CONTEXT = "FABRIK IK"
"""The translation context of our labels that Blender's own catalogues translate in another sense.

Blender looks a text up in its own catalogues first. Its Chain is a verb in Spanish, for instance,
and its Weight is the word for Influence.
"""

OTHER_SENSE = frozenset(
    {
        "Arm",
        "Bias",
        "Chain",
        "Continuous",
        "Controls",
        "Down",
        "Error",
        "Head",
        "Margin",
        "Overlay",
        "Overshoot",
        "Pattern",
        "Plane",
        "Pole",
        "Steps",
        "Switch",
        "Thickness",
        "Tilt",
        "Walk",
        "Wave",
        "Weight",
    }
)
"""The labels that have to be in `CONTEXT`."""

MOST_STORED = 4096
"""The number of stored messages above which all of them are forgotten."""


class Message(str):
    """An English text that knows how it was made, so that it can be translated.

    `str(message)` and, of an error that was raised with it, `str(error)` are the message itself.

    Attributes:
        template: The text to translate, with a placeholder for each of the values.
        values: The values by placeholder; messages among them are translated as well.
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> Message:
        return joined("", (self, other)) if other else self


def msg(template: str, /, **values: object) -> Message:
    """Make a message.

    Args:
        template: The English text as a literal, which is how `make translations` finds it, with
            placeholders such as ``{bone}`` or ``{angle:.1f}``.
        values: Strings, numbers and messages by placeholder.
    """
    # Without values braces are ordinary characters.
    message = Message(template.format_map(values) if values else template)
    message.template = template
    message.values = values
    return message


def counted(count: int, one: str, many: str) -> Message:
    """Make a message from a count and templates for one and for several: 1 key, 2 keys."""
    return msg(one if count == 1 else many, count=count)


def label(text: str) -> Message:
    """Return the message of a text that is translated as the label of a property or enum item."""
    return msg(text)


def joined(separator: str, parts: Sequence[str]) -> Message:
    """Join strings; those that are messages, the separator too, remain translatable."""
    values: dict[str, object] = {f"part{i}": part for i, part in enumerate(parts)}
    text = "{separator}".join(f"{{{name}}}" for name in values)
    return msg(text, separator=separator, **values) if values else msg("")


COMMA = msg(", ")
"""What separates the items of a list."""


def enumerated(parts: Sequence[Message]) -> Message:
    """Join messages, at least one, for a sentence: A, B and C."""
    *others, last = parts
    return msg("{names} and {last}", names=joined(COMMA, others), last=last) if others else last


def channel_name(channel: str) -> Message:
    """Return the name of a channel for a message: rotation_quaternion is a rotation."""
    if channel == "location":
        return msg("location")
    return msg("scale") if channel == "scale" else msg("rotation")


def shown(text: str) -> str:
    """Return a message in the user's language; other strings are returned as they are.

    Args:
        text: A message, or the text of a stored one.
    """
    text = recalled(text)
    if not isinstance(text, Message):
        return text
    template = _translated(text.template)
    if not text.values:
        return template
    values = {
        name: shown(value) if isinstance(value, Message) else value
        for name, value in text.values.items()
    }
    return template.format_map(values)


def context_of(*labels: str) -> str:
    """Return the translation context of labels that have the same one, as those of a property."""
    return DEFAULT if OTHER_SENSE.isdisjoint(labels) else CONTEXT


def _translated(text: str) -> str:
    """Translate a text, which may be a label in `CONTEXT`."""
    translate = bpy.app.translations.pgettext_rpt
    translation = translate(text, CONTEXT)
    return translate(text) if translation == text else translation


_stored: dict[str, Message] = {}
"""Messages by their texts."""


def store(text: str) -> None:
    """Remember the message of a text that is written to a property, which only keeps the text."""
    if isinstance(text, Message):
        if len(_stored) >= MOST_STORED:
            _stored.clear()
        _stored[text] = text


def recalled(text: str) -> str:
    """Return the message that a text from a property was, the text itself if that is unknown."""
    return text if isinstance(text, Message) else _stored.get(text, text)
