"""Hostile documents by kind, made here and small to write down; what must come of them is asserted in the tests."""

from __future__ import annotations

from bbj_pipeline_tests.sources.hostile.builders import Builder
from bbj_pipeline_tests.sources.hostile.markup import FLARE, MARKUP
from bbj_pipeline_tests.sources.hostile.objects import JAVADOC, WORDPRESS
from bbj_pipeline_tests.sources.hostile.pdf import PDF
from bbj_pipeline_tests.sources.hostile.text import BBJ, MDX

DOCUMENTS: dict[str, dict[str, Builder]] = {
    "flare": FLARE, "web_crawl": MARKUP, "wordpress": WORDPRESS, "javadoc": JAVADOC, "mdx": MDX, "bbj_source": BBJ, "pdf": PDF,
}  # fmt: skip
KEYS = {
    "flare": "a.htm",
    "web_crawl": "a.html",
    "wordpress": "1",
    "javadoc": "p.json",
    "mdx": "a.mdx",
    "bbj_source": "a.bbj",
    "pdf": "a.pdf",
}
