"""Tagging and chunking of real documents: nothing lost, nothing over the window, and plausible labels."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from bbj_pipeline.models import load_tokenizer
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.stages.documents import tagged_folder
from bbj_pipeline_tests.stages.test_chunking_properties import fences_are_balanced

_WORD = re.compile(r"\w+")


@pytest.mark.parametrize(
    ("kind", "folder"),
    [
        ("mdx", "mdx/bbj-ai-strategy"),
        ("mdx", "mdx/bbj-beginner-course"),
        ("flare", "flare/saleslogix-clean"),
        ("wordpress", "wordpress/code-posts"),
        ("javadoc", "javadoc/bbj"),
    ],
)
def test_real_documents_are_chunked_whole(kind: str, folder: str) -> None:
    """Every word of a text is in its chunks as often (overloads share theirs), within 512 tokens, with fences closed."""
    tokenizer = load_tokenizer(Settings())
    docs = tagged_folder(kind, CORPORA / folder)
    assert docs
    ids = []
    for doc in docs:
        chunks = chunk(doc, tokenizer)
        ids.extend(item.chunk_id(InstanceRef(kind, "x")) for item in chunks)
        held = Counter(word for item in chunks for text in (*item.heading_path, item.content) for word in _WORD.findall(text))
        body = [block.text for block in doc.topic.blocks if block.type != "heading"]
        needed = Counter(word for text in body for word in _WORD.findall(text))
        if doc.doc_type == "api-reference":
            needed = Counter(set(needed))
        assert not needed - held, f"{doc.topic.key}: {list(needed - held)[:5]}"
        assert all(item.tokens <= 512 for item in chunks)
        assert all(fences_are_balanced(item.content) for item in chunks)
    assert len(set(ids)) == len(ids)


def test_a_method_has_the_version_its_own_description_begins_with() -> None:
    """Of BBj's own reference each method without overloads that says "In BBj N and higher" has N, not its class's version."""
    files = [json.loads(path.read_bytes()) for path in sorted((CORPORA / "javadoc/bbj").glob("*.json"))]
    said: dict[tuple[str, str], str] = {}
    for package in files:
        for record in package["classes"]:
            names = Counter(method["name"] for method in record["methods"])
            for method in record["methods"]:
                found = re.match(r"In BBj (\d+(?:\.\d+)*)\s+and higher, this method ", method["docu"] or "")
                if found and names[method["name"]] == 1 and "deprecated" not in method["docu"].lower():
                    said[f"{package['name']}.{record['name']}", method["name"]] = found[1]
    assert len(said) == 1414
    assert said["com.basis.bbj.proxies.BBjAppConfig", "setOmitBasisCss"] == "17.0"  # the class itself: 12.00
    tokenizer = load_tokenizer(Settings())
    checked = set()
    for doc in tagged_folder("javadoc", CORPORA / "javadoc/bbj"):
        for item in chunk(doc, tokenizer):
            place = (doc.topic.key, item.heading_path[-1] if item.heading_path else "")
            if place in said:
                assert item.metadata["since_version"] == said[place], place
                checked.add(place)
    assert checked == set(said)


def test_pages_about_bbj_are_tagged_and_others_are_not() -> None:
    """The page that shows all four generations carries four labels; manuals of other products and C++ posts stay unknown."""
    by_key = {doc.topic.key: doc for doc in tagged_folder("mdx", CORPORA / "mdx/bbj-ai-strategy")}
    challenge = next(doc for key, doc in by_key.items() if "bbj-challenge" in key)
    assert challenge.generations == ("character", "vpro5", "bbj-gui", "dwc")
    assert all(not doc.generations for doc in tagged_folder("flare", CORPORA / "flare/saleslogix-clean"))
    assert all(not doc.generations for doc in tagged_folder("wordpress", CORPORA / "wordpress/code-posts"))
    course = {doc.topic.key: doc.generations for doc in tagged_folder("mdx", CORPORA / "mdx/bbj-beginner-course")}
    assert course["docs/file-io/index.md"] == ("all",)
