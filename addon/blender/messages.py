"""Messages for the user: created in English, shown in the user's language.

The code creates a message with `msg` where it detects a problem or a result. A message is an
ordinary English string: scripts can compare, store and read it in any language. Only code that
draws or reports a message calls `shown`, so unseen messages aren't translated.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy

DEFAULT = bpy.app.translations.contexts.default
"""Blender's default translation context, used for most texts."""

CONTEXT = "FABRIK IK"
"""The translation context of labels that have another meaning in Blender's own catalogs.

Blender looks up a text in its own catalogs first. In Spanish, for instance, its Chain is a verb,
and its Weight is translated like Influence.
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
        "Tilt",
        "Walk",
        "Wave",
        "Weight",
    }
)
"""The labels that require `CONTEXT`."""

MOST_STORED = 4096
"""The maximum number of stored messages. At the limit, all of them are forgotten."""


class Message(str):
    """An English text with its template and values, so that it can be translated.

    `str(message)` is the message itself, and so is `str(error)` of an error raised with a message.

    Attributes:
        template: The text to translate, with a placeholder for each value.
        values: The values by placeholder. Messages among them are translated as well.
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> Message:
        return joined("", (self, other)) if other else self


def msg(template: str, /, **values: object) -> Message:
    """Create a message.

    Args:
        template: The English text, with placeholders such as ``{bone}`` or ``{angle:.1f}``. It must
            be a literal, so that `make translations` finds it.
        values: Strings, numbers and messages by placeholder.
    """
    # Without values, braces are ordinary characters.
    message = Message(template.format_map(values) if values else template)
    message.template = template
    message.values = values
    return message


def counted(count: int, singular: str, plural: str) -> Message:
    """Create a message from a count and templates for singular and plural: 1 key, 2 keys."""
    return msg(singular if count == 1 else plural, count=count)


def label(text: str) -> Message:
    """Return a message that is translated as the label of a property or enum item."""
    return msg(text)


def joined(separator: str, parts: Sequence[str]) -> Message:
    """Join strings. Messages among them, including the separator, remain translatable."""
    values: dict[str, object] = {f"part{i}": part for i, part in enumerate(parts)}
    text = "{separator}".join(f"{{{name}}}" for name in values)
    return msg(text, separator=separator, **values) if values else msg("")


COMMA = msg(", ")
"""The separator of list items."""


def enumerated(parts: Sequence[Message]) -> Message:
    """Join messages, at least one, for a sentence: A, B and C."""
    *leading, last = parts
    return msg("{names} and {last}", names=joined(COMMA, leading), last=last) if leading else last


def channel_name(channel: str) -> Message:
    """Return the name of a channel for a message, such as rotation for rotation_quaternion."""
    if channel == "location":
        return msg("location")
    return msg("scale") if channel == "scale" else msg("rotation")


def shown(text: str) -> str:
    """Return a message in the user's language; other strings stay unchanged.

    Args:
        text: A message, or the text of a stored message.
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
    """Return the translation context that some labels share, such as those of one property."""
    return DEFAULT if OTHER_SENSE.isdisjoint(labels) else CONTEXT


def _translated(text: str) -> str:
    """Translate a text, which may be a label in `CONTEXT`."""
    translate = bpy.app.translations.pgettext_rpt
    translation = translate(text, CONTEXT)
    return translate(text) if translation == text else translation


_stored: dict[str, Message] = {}
"""Messages by their texts."""


def store(text: str) -> None:
    """Remember a message written to a property, which stores only its text."""
    if isinstance(text, Message):
        if len(_stored) >= MOST_STORED:
            _stored.clear()
        _stored[text] = text


def recalled(text: str) -> str:
    """Return the stored message of a property's text; the text itself if no message is stored."""
    return text if isinstance(text, Message) else _stored.get(text, text)
