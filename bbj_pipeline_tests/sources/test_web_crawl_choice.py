"""Which pages of a site are documents: versions and locales of Docusaurus, and paths that are not read."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import RawDocument, Reject, Topic
from bbj_pipeline.sources.replay import Answer
from bbj_pipeline.sources.web_crawl import SOURCE, WebCrawlOptions
from bbj_pipeline_tests.sources.sites import chain, keyed, page, served


def docusaurus(text: str, *links: str, version: str | None, locale: str) -> bytes:
    metas = f'<meta name="docusaurus_locale" content="{locale}">'
    metas += f'<meta name="docusaurus_version" content="{version}">' if version else ""
    return page(text, *links, head=metas)


SITE = {
    "/": docusaurus("home", "/docs/a", "/docs/next/a", "/de/docs/a", "/blog/x", version=None, locale="en"),
    "/docs/a": docusaurus("a", version="2.0", locale="en"),
    "/docs/next/a": docusaurus("a next", "/docs/next/only", version="current", locale="en"),
    "/docs/next/only": docusaurus("only", version="current", locale="en"),
    "/de/docs/a": docusaurus("a auf deutsch", version="2.0", locale="de-AT"),
    "/blog/x": docusaurus("blog", version=None, locale="en"),
}


@pytest.mark.parametrize(
    ("options", "documents", "resources"),
    [
        ({}, set(SITE), set()),
        ({"versions": ["2.0"]}, {"/", "/docs/a", "/de/docs/a", "/blog/x"}, {"/docs/next/a", "/docs/next/only"}),
        ({"locales": ["en"], "versions": ["2.0"]}, {"/", "/docs/a", "/blog/x"}, set(SITE) - {"/", "/docs/a", "/blog/x"}),
        ({"locales": ["de"]}, {"/de/docs/a"}, set(SITE) - {"/de/docs/a"}),
        ({"exclude": ["/docs/next/", "/de/"]}, {"/", "/docs/a", "/blog/x"}, set()),
        ({"exclude": ["/blog", "/*/next/a$"]}, {"/", "/docs/a", "/de/docs/a"}, set()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["url", "path"])
def test_versions_and_locales_are_chosen(
    tmp_path: Path, mode: str, options: dict[str, Any], documents: set[str], resources: set[str]
) -> None:
    """Pages of other versions and languages are kept as resources, excluded paths are not read; live and from a folder."""
    with served(dict(SITE)) as site:
        if mode == "url":
            found = site.crawl(**options)
            asked = site.traffic.targets()
        else:
            for target, content in SITE.items():
                file = tmp_path / (target.strip("/") or "index") if target != "/" else tmp_path / "index"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.with_name(file.name + ".html").write_bytes(content)
            found = list(SOURCE.export(WebCrawlOptions.model_validate({"path": tmp_path, **options})))
            asked = []
    roles: dict[str, set[str]] = {"document": set(), "resource": set()}
    for item in found:
        assert isinstance(item, RawDocument)
        key = item.key if mode == "url" else "/" + item.key.removesuffix(".html").removesuffix("index")
        roles[item.role].add(key)
    if mode == "path" and options.get("exclude") == ["/blog", "/*/next/a$"]:
        documents = documents | {"/docs/next/only"}  # in a folder no link is needed to find it
    assert (roles["document"], roles["resource"]) == (documents, resources)
    assert not {target for target in asked if target.startswith("/docs/next/")} or "exclude" not in options


def test_a_page_says_its_version_and_locale() -> None:
    """Both are metadata of the raw document and of its topic, so that a search can tell them apart."""
    with served(dict(SITE)) as site:
        raw = keyed(site.crawl())["/de/docs/a"]
    assert (raw.metadata["version"], raw.metadata["locale"]) == ("2.0", "de-AT")
    (topic,) = SOURCE.parse(raw, WebCrawlOptions.model_validate({"path": "/x"}), lambda key: b"")
    assert isinstance(topic, Topic)
    assert (topic.metadata["version"], topic.metadata["locale"]) == ("2.0", "de-AT")


def test_an_excluded_path_is_written_as_in_robots() -> None:
    """A pattern that could never match is refused with its name."""
    with pytest.raises(ValidationError, match="'docs/next' must begin with /"):
        WebCrawlOptions.model_validate({"path": "/x", "exclude": ["docs/next"]})


def test_a_start_page_that_is_excluded_is_said() -> None:
    """Nothing can be read: an error, not an empty site."""
    with served(chain()) as site, pytest.raises(SourceUnavailable, match=r"no page of .* could be read"):
        site.crawl(exclude=["/"])


@pytest.mark.parametrize("pattern", ["/next/", "/docs/next/"])
def test_an_excluded_path_counts_from_the_start_and_from_the_root(pattern: str) -> None:
    """A crawl that begins below the root understands both ways to write a path."""
    with served({"/docs/": page("home", "next/a", "b"), "/docs/next/a": page("a"), "/docs/b": page("b")}) as site:
        found = site.crawl(url=f"{site.origin}/docs/", exclude=[pattern])
    assert {item.key for item in found} == {"/docs", "/docs/b"}


def test_a_redirect_into_an_excluded_path_is_no_document() -> None:
    """Excluded is excluded, by whichever way it is reached; a redirect to another site is no document and no fault."""
    with served(
        {
            "/": page("home", "/old", "/out"), "/old": Answer(302, headers={"Location": "/next/a"}), "/next/a": page("a"),
            "/out": Answer(302, headers={"Location": "https://example.org/"}),
        }
    ) as site:  # fmt: skip
        found = keyed(site.crawl(exclude=["/next/"]))
    assert set(found) == {"/"}
    assert not any(isinstance(item, Reject) for item in found.values())
