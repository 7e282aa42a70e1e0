"""An extraction of visible words that shares no code with the walker: the standard library's HTML parser and a set of tags."""

import re
from collections import Counter
from html.parser import HTMLParser


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


INLINE = _names(
    "a abbr b bdi bdo big button cite code col del dfn em font i img input ins kbd label mark q s samp small span strike"
    " strong sub sup time tt u var wbr"
)
VOID = _names("area base br col embed hr img input link meta param source track wbr")
HIDDEN = {"script", "style", "head", "template", "svg", "iframe"}


class _Words(HTMLParser):
    def __init__(self, hidden_class: str | None) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.hidden: list[str] = []
        self.hidden_class = hidden_class

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in INLINE:
            self.pieces.append("\n")
        classes = (dict(attrs).get("class") or "").split()
        if tag == "img" and not self.hidden:
            self.pieces.append(f" {dict(attrs).get('alt') or ''} ")
        if tag not in VOID and (self.hidden or tag in HIDDEN or self.hidden_class in classes):
            self.hidden.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in INLINE or tag == "img":
            self.handle_starttag("img" if tag == "img" else "hr", attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in INLINE:
            self.pieces.append("\n")
        if self.hidden and tag in self.hidden:
            while self.hidden.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.pieces.append(data)


def visible_words(text: str, *, hidden_class: str | None = None) -> Counter[str]:
    """Count the words a reader sees; ``hidden_class`` marks elements that are navigation."""
    parser = _Words(hidden_class)
    parser.feed(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text))
    parser.close()
    return Counter(re.sub("[\u200b\u00ad\ufeff]", "", "".join(parser.pieces)).split())
