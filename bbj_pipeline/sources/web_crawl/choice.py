"""Which pages of a site are documents of the instance: by their path, and by the version and locale they say they have.

Docusaurus builds each version and each translation of a site beside the others. Pure functions on a parsed page.
"""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from bbj_pipeline.sources.web_crawl.addresses import is_utility_page
from bbj_pipeline.sources.web_crawl.robots import matches

__all__ = ["Choice", "labels_of"]

_METAS = {"docusaurus_version": "version", "docusaurus_locale": "locale"}


def labels_of(root: etree._Element) -> dict[str, str]:
    """Return ``version`` and ``locale`` of a page as Docusaurus writes them; elsewhere the locale is the page's language.

    A page that belongs to no version of the documentation (home, blog) has none. ``current`` is the version being written.
    """
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        label = _METAS.get((meta.get("name") or "").lower())
        content = (meta.get("content") or "").strip()
        if label is not None and content:
            found.setdefault(label, content)
    language = next((node.get("lang") for node in root.iter("html") if node.get("lang")), None)
    if language is not None and language.strip():
        found.setdefault("locale", language.strip())
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Choice:
    """The pages an instance wants. Empty ``versions`` or ``locales`` choose all; ``exclude`` are path patterns not read."""

    versions: tuple[str, ...] = ()
    locales: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def reads(self, path: str) -> bool:
        """Say whether the page at ``path``, below the site's root, may be read at all."""
        rooted = "/" + path.lstrip("/")
        return not any(matches(pattern, rooted) or matches(pattern, rooted + "/") for pattern in self.exclude)

    def is_document(self, path: str, labels: dict[str, str]) -> bool:
        """Say whether a page is a document; error and search pages are none. A page without a label is of every choice."""
        if is_utility_page(path):
            return False
        version, locale = labels.get("version"), labels.get("locale")
        return (not self.versions or version is None or version in self.versions) and (
            not self.locales or locale is None or any(_speaks(locale, wanted) for wanted in self.locales)
        )


def _speaks(locale: str, wanted: str) -> bool:
    """``de`` stands for ``de-AT`` too, not the other way round."""
    one, other = locale.lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return one == other or one.startswith(other + "-")
