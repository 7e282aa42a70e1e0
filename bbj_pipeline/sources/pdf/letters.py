"""Makes text of spans: ligatures and odd blanks become letters and spaces, hyphens set apart become soft ones.

Nothing is known of what stands on other lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bbj_pipeline.sources.pdf.extract import Span

__all__ = ["line_text", "text_of"]

_LIGATURES = str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "\u00a0": " ",
        "\x7f": "•",
        "\u2010": "-",
        "\u2011": "-",
    }
)


def text_of(spans: Iterable[Span]) -> str:
    """Return the text of spans that follow one another on a line."""
    return "".join(span.text for span in spans).translate(_LIGATURES)


def line_text(spans: Sequence[Span]) -> str:
    """Return the text of a line; a hyphen at its end that is drawn apart from its word is a soft one (U+00AD).

    Programs that break words draw the hyphen they add for itself, and a hyphen of the word's own with its word.
    """
    text = text_of(spans).rstrip()
    solid = [span.text.strip() for span in spans if span.text.strip()]
    if len(solid) >= 2 and solid[-1] == "-" and solid[-2][-2:].isalpha() and text[-3:-1].isalpha():
        return f"{text[:-1]}\u00ad"
    return text
