"""The wordpress source against all real dumps: independent counts, and words by an extraction that uses no HTML parser."""

import csv
import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import WITHDRAWN_CODES, RawDocument, Reject, Topic
from bbj_pipeline.sources.wordpress import SOURCE, WordPressOptions
from bbj_pipeline_tests.paths import CORPORA, FACTS

DUMPS = ("code-posts", "edge-cases", "multilingual", "small-en")


@cache
def exported(name: str, mode: str) -> tuple[Any, ...]:
    return tuple(SOURCE.export(options(name, mode)))


def options(name: str, mode: str) -> WordPressOptions:
    return WordPressOptions.model_validate({mode: CORPORA / "wordpress" / name})


@cache
def parsed(name: str, mode: str) -> tuple[Topic | Reject, ...]:
    contents = {raw.key: raw.content for raw in exported(name, mode) if isinstance(raw, RawDocument)}
    results: list[Topic | Reject] = []
    for raw in exported(name, mode):
        if isinstance(raw, RawDocument) and raw.role == "document":
            results.extend(SOURCE.parse(raw, options(name, mode), contents.__getitem__))
    return tuple(results)


def topics(name: str, mode: str = "path") -> dict[str, Topic]:
    return {item.key: item for item in parsed(name, mode) if isinstance(item, Topic)}


def recorded(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every JSON object of a dump with its file, read without the code under test."""
    for path in sorted((CORPORA / "wordpress" / name).rglob("*.json")):
        value = json.loads(path.read_text(encoding="utf-8"))
        for item in value if isinstance(value, list) else [value]:
            yield path.name, item


def posts(name: str) -> dict[str, dict[str, Any]]:
    """Published posts and pages by id; of several versions one with content."""
    found: dict[str, dict[str, Any]] = {}
    for _, item in recorded(name):
        if item.get("type") in ("post", "page") and "title" in item and ("content" in item or str(item["id"]) not in found):
            found[str(item["id"])] = item
    return found


def facts(name: str) -> dict[str, dict[str, str]]:
    """The independent counts of each post, by id."""
    with (FACTS / "wordpress_posts.tsv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["file"].startswith(f"wordpress/{name}/")]
    return {row["id"]: row for row in rows if row["type"] in ("post", "page")}


@pytest.mark.parametrize(
    ("name", "documents", "topic_count"),
    [("code-posts", 40, 40), ("edge-cases", 0, 0), ("multilingual", 8, 8), ("small-en", 74, 0)],
)
def test_each_post_id_is_one_document(name: str, documents: int, topic_count: int) -> None:
    """The same post in several files is one document; the counts are those of the distinct ids in the dump."""
    keys = [raw.key for raw in exported(name, "path") if isinstance(raw, RawDocument) and raw.role == "document"]
    assert len(keys) == len(set(keys)) == documents == len(posts(name))
    assert set(keys) == set(posts(name))
    assert len(topics(name)) == topic_count


@pytest.mark.parametrize("name", DUMPS)
def test_keys_are_sorted_and_unique(name: str) -> None:
    """An export lists every key once, in order."""
    keys = [item.key for item in exported(name, "path")]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("name", DUMPS)
def test_every_file_of_a_dump_is_accounted_for(name: str) -> None:
    """Nothing vanishes: each recorded object is a document, a term, a resource or a reject."""
    keys = {item.key for item in exported(name, "path")}
    root = CORPORA / "wordpress" / name
    for path in root.rglob("*"):
        if not path.is_file():
            continue
        key = path.relative_to(root).as_posix()
        if path.suffix == ".json" and key not in keys:
            value = json.loads(path.read_text(encoding="utf-8"))
            for item in value if isinstance(value, list) else [value]:
                own = f"term/{item['taxonomy']}/{item['id']}" if "taxonomy" in item else str(item["id"])
                assert own in keys
        elif path.suffix != ".json":
            assert key in keys


@pytest.mark.parametrize("name", DUMPS)
def test_a_replayed_dump_gives_the_same_records_as_the_dump(name: str) -> None:
    """Served on loopback and read through the REST API, a dump gives equal raw documents and equal topics."""
    assert exported(name, "replay") == exported(name, "path")
    assert parsed(name, "replay") == parsed(name, "path")


def test_no_record_of_a_replay_names_the_loopback_server() -> None:
    """The ephemeral address is in no key, URL, metadata, body or topic."""
    text = repr((exported("code-posts", "replay"), parsed("code-posts", "replay"), exported("multilingual", "replay")))
    assert "127.0.0.1" not in text


def test_what_holds_no_post_is_named() -> None:
    """A recorded directory listing and a recorded page without objects are named with the reason; the latter is no failure."""
    listing, empty = exported("edge-cases", "path")
    assert isinstance(listing, Reject)
    assert (listing.key, listing.code) == ("apache-directory-listing-instead-of-json.html", "not-json")
    assert "HTML" in listing.reason
    assert isinstance(empty, Reject)
    assert (empty.key, empty.code) == ("empty-array.json", "empty-page")
    assert empty.code in WITHDRAWN_CODES


def test_trimmed_posts_are_rejected_with_the_reason() -> None:
    """74 posts recorded without content are 74 rejects, none a topic without text."""
    rejects = [item for item in parsed("small-en", "path") if isinstance(item, Reject)]
    assert {item.code for item in rejects} == {"no-content"}
    assert len(rejects) == 74


@pytest.mark.parametrize("name", ["code-posts", "multilingual"])
def test_structure_equals_the_independent_counts(name: str) -> None:
    """Code blocks, headings and tables of every post are as many as counted by other means."""
    known = facts(name)
    for key, topic in topics(name).items():
        found = Counter(block.type for block in topic.blocks)
        content = posts(name)[key]["content"]["rendered"]
        empty_headings = len(
            re.findall(r"<h[1-6][^>]*>(?:\s|&nbsp;|<br ?/?>|</?(?:strong|b|span|em)[^>]*>)*</h[1-6]>", content)
        )
        assert found["code"] == int(known[key]["n_pre"]), key
        assert found["heading"] == int(known[key]["n_headings"]) - empty_headings, key
        assert found["table"] == int(known[key]["n_table"]), key


def test_the_corpus_has_242_code_blocks() -> None:
    """The number the corpus' description gives."""
    assert sum(block.type == "code" for topic in topics("code-posts").values() for block in topic.blocks) == 242


def test_code_is_verbatim() -> None:
    """Every line of every ``pre`` is in its code block with its indentation; ``&#91;`` is a bracket."""
    for key, topic in topics("code-posts").items():
        pres = re.findall(r"<pre\b[^>]*>(.*?)</pre>", posts("code-posts")[key]["content"]["rendered"], re.S)
        codes = [block.text for block in topic.blocks if block.type == "code"]
        for source, code in zip(pres, codes, strict=True):
            plain = html.unescape(re.sub(r"</?[a-zA-Z][^<>]*>", "", re.sub(r"<br\s*/?>", "\n", source)))
            plain = plain.replace("\u00a0", " ").replace("\r\n", "\n")
            assert [line.rstrip() for line in code.split("\n")] == [
                line.rstrip() for line in plain.strip("\n").rstrip().split("\n")
            ]
    assert any("grade[27]" in block.text for block in topics("code-posts")["424"].blocks if block.type == "code")


def test_titles_are_decoded_and_dates_are_utc() -> None:
    """Entities in titles become characters; ``modified_gmt`` is given as UTC; the link is the URL."""
    found = topics("code-posts")
    for key, post in posts("code-posts").items():
        assert found[key].title == " ".join(html.unescape(post["title"]["rendered"]).split())
        assert found[key].metadata["last_updated"] == post["modified_gmt"] + "Z"
        assert found[key].url == post["link"]
    assert "&" not in found["193"].title


def test_sections_come_from_categories() -> None:
    """Ids are looked up among the recorded terms; a theme that embeds the terms is read too."""
    names = {item["id"]: html.unescape(item["name"]) for _, item in recorded("code-posts") if item.get("taxonomy")}
    post = posts("code-posts")["424"]
    topic = topics("code-posts")["424"]
    assert topic.section_path == (names[post["categories"][0]],)
    assert topics("multilingual")["113"].section_path == ("Information",)


def test_a_post_depends_on_its_terms() -> None:
    """A renamed category makes its posts changed: the term is a dependency, and its post count is not part of it."""
    raw = next(item for item in exported("code-posts", "path") if item.key == "424")
    terms = {item.key: json.loads(item.content) for item in exported("code-posts", "path") if item.key.startswith("term/")}
    assert raw.dependencies
    assert set(raw.dependencies) <= set(terms)
    assert all("count" not in term for term in terms.values())


def test_media_and_indexes_are_resources() -> None:
    """Attachments, the API's own index and a type's description are kept and are no topics."""
    roles = {item.key: item.role for item in exported("multilingual", "path") if isinstance(item, RawDocument)}
    for key in ("media/123.json", "media/57.json", "media-parent=113.json", "index.json", "types/post.json"):
        assert roles[key] == "resource"


def test_the_dump_must_exist() -> None:
    """A missing folder is said with its path and the option to correct."""
    for mode in ("path", "replay"):
        with pytest.raises(SourceUnavailable, match=f'no dump at /nowhere/dump: set "{mode}" of wordpress'):
            list(SOURCE.export(WordPressOptions.model_validate({mode: Path("/nowhere/dump")})))
