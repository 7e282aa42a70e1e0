"""The javadoc source on small packages of our own: sections, signatures, links and versions; bad input is a named reject."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bbj_pipeline.records import Block, RawDocument, Reject, Topic, to_json
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.javadoc import SOURCE, JavadocOptions

SAMPLES = JavadocOptions(path=SAMPLES_DIR / "javadoc")
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LINK = "\r\r[Docs](https://docs.example.org/{}.htm)"


def no_resource(key: str) -> bytes:
    raise KeyError(key)


def parse(content: bytes, key: str = "p.json") -> list[Topic | Reject]:
    return list(SOURCE.parse(RawDocument(key=key, content=content), JavadocOptions(), no_resource))


def package(*classes: Any, **fields: Any) -> bytes:
    return json.dumps({"name": "p", "version": "1", "classes": list(classes), **fields}).encode()


def member(name: str, docu: str = "", *params: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "docu": docu, "params": list(params)}


def topic(docu: str = "", **members: Any) -> Topic:
    record = {"name": "C", "docu": docu, "fields": [], "constructors": [], "methods": [], **members}
    (result,) = parse(package(record))
    assert isinstance(result, Topic), result
    return result


def outline(blocks: tuple[Block, ...]) -> list[tuple[str, int | None, str]]:
    return [(block.type, block.level, block.text) for block in blocks]


def test_a_class_is_a_topic_and_a_member_a_section() -> None:
    """Sections in the fixed order, a heading a member with its name, the signature as code under it, then the description."""
    found = topic(
        "About C.",
        fields=[{"name": "MAX", "docu": "The most."}],
        constructors=[member("C", "Makes one.", {"name": "size"})],
        methods=[member("go", "Goes.", {"name": "p_to", "type": "String"}), member("<init>", "", {"name": "a", "type": "int"})],
    )
    assert outline(found.blocks) == [
        ("paragraph", None, "About C."),
        ("heading", 2, "Fields"),
        ("heading", 3, "MAX"),
        ("paragraph", None, "The most."),
        ("heading", 2, "Constructors"),
        ("heading", 3, "C"),
        ("code", None, "C(size)"),
        ("paragraph", None, "Makes one."),
        ("heading", 3, "C"),
        ("code", None, "C(int a)"),
        ("heading", 2, "Methods"),
        ("heading", 3, "go"),
        ("code", None, "go(String p_to)"),
        ("paragraph", None, "Goes."),
    ]
    assert (found.key, found.title, found.section_path) == ("p.C", "C", ("BBj API", "p"))
    assert found.metadata["signatures"] == ["C(size)", "C(int a)", "go(String p_to)"]
    assert SOURCE.default_doc_type == "api-reference"


def test_overloads_are_sections_told_apart_by_their_signatures() -> None:
    """Two methods of one name stay two sections; types may be missing."""
    found = topic(methods=[member("add", "", {"name": "a", "type": "int"}), member("add", "", {"name": "a"})])
    assert [block.text for block in found.blocks] == ["Methods", "add", "add(int a)", "add", "add(a)"]


def test_the_trailing_link_is_a_url_and_never_text() -> None:
    """A class's link is its URL, a member's is metadata; anything but http(s) is dropped."""
    found = topic("About." + LINK.format("c"), methods=[member("go", "Goes." + LINK.format("c_go"))])
    assert found.url == "https://docs.example.org/c.htm"
    assert found.metadata["member_urls"] == {"go": "https://docs.example.org/c_go.htm"}
    assert [block.text for block in found.blocks] == ["About.", "Methods", "go", "go()", "Goes."]
    assert topic("About.\r\r[Docs](javascript:alert(1))").url is None


def test_a_version_number_does_not_end_a_sentence() -> None:
    """The whole sentence stays; a class's own first sentence gives since_version, a method's does not."""
    found = topic(
        "In BBj 7.00 and higher, this class is <b>new</b>.", methods=[member("go", "In \r\n BBj 9.0 and higher, goes.")]
    )
    assert found.blocks[0].text == "In BBj 7.00 and higher, this class is new."
    assert found.blocks[-1].text == "In BBj 9.0 and higher, goes."
    assert found.metadata["since_version"] == "7.00"
    assert found.metadata["member_since"] == {"go()": "9.0"}
    assert "since_version" not in topic("A class. In BBj 8.0 and higher, it has colours.").metadata
    for said, version in (
        ("In BBj 14.0, this is new.", "14.0"),
        ("In BBj 7.00 and highr, it is.", "7.00"),
        ("In BBj code, it", None),
    ):
        assert topic(said).metadata.get("since_version") == version


def test_deprecation_is_recognised_and_told_from_what_replaces_it() -> None:
    """A deprecated class or member is marked with the version; a sentence about something else deprecated marks nothing."""
    found = topic("In BBj 19.0 and higher, this class is deprecated.", methods=[member("a", "Deprecated. Use b.")])
    assert (found.metadata["still_valid"], found.metadata["deprecated_in"]) == (False, "19.0")
    assert "since_version" not in found.metadata
    assert found.metadata["deprecated_members"] == {"a()": None}
    later = topic("In BBj 5.0 and higher, it draws. In BBj 9.0 and higher, this class is deprecated.").metadata
    assert (later["since_version"], later["deprecated_in"], later["still_valid"]) == ("5.0", "9.0", False)
    moved = topic(methods=[member("a", "In BBj 5.0 and higher, goes." + LINK.format("deprecated/a"))]).metadata
    assert (moved["deprecated_members"], moved["member_since"]) == ({"a()": None}, {"a()": "5.0"})
    assert "deprecated_members" not in topic(methods=[member("b", "This method replaces deprecated X::y.")]).metadata


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Draws a line.<br>Deprecated. Use drawLine.", None),
        ("Draws a line. <b>Deprecated</b>: use drawLine.", None),
        ("Draws a line.<p>Deprecated</p>", None),
        ("Draws a line. (deprecated)", None),
        ("Deprecated since it was replaced.", None),
        ("In BBj 12.0 and higher, this\r\n method has been\r\n deprecated; use drawLine.", "12.0"),
        ("Draws. In BBj 12.0 and higher, the X::old() method is deprecated.", "12.0"),
        ("Draws. In BBj 9.0 and higher, it blinks.<br>This method was deprecated.", None),
        ('<div class="deprecated_note">Use drawLine instead.</div>', None),
        ("/** Draws.\n * @deprecated use drawLine\n */", None),
    ],
)
def test_each_way_to_say_deprecated_is_seen(said: str, version: str | None) -> None:
    """Wherever it stands in a description, the deprecation of the described is seen, with the version of that very sentence.

    Without a version the state is deprecated all the same: of a member null, of a class ``still_valid`` alone.
    """
    assert topic(methods=[member("old", said)]).metadata["deprecated_members"] == {"old()": version}
    own = topic(said.replace("X::old()", "C")).metadata
    assert (own["still_valid"], own.get("deprecated_in")) == (False, version)


@pytest.mark.parametrize(
    "said",
    [
        "Deprecated methods are listed below.",
        "Returns the names of all deprecated classes.",
        "Use this; the X::setOther() method is deprecated.",
        "Use this; the BBjOther class is deprecated.",
        'The <a class="deprecated" href="x.htm">BBjOther</a> it belongs to.',
        "It replaces deprecated X::other.",
    ],
)
def test_what_is_said_of_others_deprecates_nothing(said: str) -> None:
    """That another class or member is deprecated, or a link looks so, leaves the described valid."""
    found = topic(said, methods=[member("fresh", said)]).metadata
    assert "deprecated_members" not in found
    assert "still_valid" not in found


def test_lone_surrogates_and_zeros_in_every_place_are_cleaned() -> None:
    """Members, types and descriptions that no database could store give records that can be encoded, with distinct keys.

    Names of packages and classes become keys, and are refused instead.
    """
    bad = "a\ud800\0b"
    methods = [
        member(bad, f"In BBj 5.0 and higher, {bad}. This method is deprecated." + LINK.format(bad), {"name": bad, "type": bad})
    ]
    record = {"name": "C", "docu": bad + LINK.format(bad), "methods": methods, "fields": [{"name": bad, "docu": bad}]}
    content = json.dumps({"name": "p", "docu": bad, "classes": [record, record, {"name": "a\udfffb"}, {"name": "\0"}]}).encode()
    found = parse(content, bad + ".json")
    (topic,) = [item for item in found if isinstance(item, Topic)]
    assert topic.key == "p.C"
    assert "a\ufffd b" in {block.text for block in topic.blocks}
    assert [item.code for item in found if isinstance(item, Reject)] == ["duplicate-class", "bad-class", "bad-class"]
    assert len({item.key for item in found}) == len(found)
    for item in found:
        text = json.dumps(to_json(item), ensure_ascii=False)
        assert "\\u0000" not in text
        assert text.encode()


def test_a_scraped_page_is_removed_and_noted() -> None:
    """A whole page in a docu field is navigation; what its main part says is kept, the rest is gone, and metadata says so."""
    page = '<head><title>T</title></head><body><nav><ul><li>Home</li></ul></nav><div role="main"><h1>C::go</h1>{}</div></body>'
    found = topic(methods=[member("go", page.format("<p>Goes.</p>")), member("stop", page.format(""))])
    assert [block.text for block in found.blocks] == ["Methods", "go", "go()", "Goes.", "stop", "stop()"]
    assert [note.split(":")[0] for note in found.metadata["removed"]] == ["go", "stop"]


def test_html_and_javadoc_comments_are_read_as_blocks() -> None:
    """Lists and code of an HTML fragment, and the inline and block tags of a JavaDoc comment, keep their words."""
    found = topic('<p class="x">One <a href="b.htm">BBjB</a>:<ul><li>two</li></ul><p class="Code">b! =\r\n c!</p>')
    assert outline(found.blocks) == [("paragraph", None, "One BBjB:"), ("list_item", 1, "two"), ("code", None, "b! = c!")]
    assert found.metadata["related"] == ["BBjB"]
    comment = "/**\n * A {@code Map<K,V>} of {@link A#b B.b}.\n *\n * @param <K> the keys\n * @since 1.2\n */"
    assert [block.text for block in topic(comment).blocks] == ["A Map<K,V> of B.b.", "@param <K> the keys", "@since 1.2"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not-json"),
        (b"{", "not-json"),
        (b"[" * 100_000, "not-json"),
        (b"[1]", "not-javadoc"),
        (b'{"name": 1, "classes": []}', "not-javadoc"),
        (b'{"name": "p", "classes": {}}', "not-javadoc"),
        (b'{"name": "p", "classes": []}', "no-classes"),
        (b'{"name": "p", "classes": [7]}', "bad-class"),
        (b'{"name": "p", "classes": [{"name": " "}]}', "bad-class"),
        (b'{"name": "p", "classes": [{"name": "A\\ud800"}]}', "bad-class"),
        (b'{"name": "p", "classes": [{"name": "A\\u0000B"}]}', "bad-class"),
        (b'{"name": "p\\udfff", "classes": [{"name": "A"}]}', "not-javadoc"),
    ],
    ids=[
        "empty",
        "cut",
        "deep",
        "list",
        "no-name",
        "no-list",
        "no-classes",
        "number",
        "nameless",
        "half a pair",
        "zero",
        "half a package",
    ],
)
def test_unusable_files_are_named_rejects(content: bytes, code: str) -> None:
    """Bad input is one reject with a stable code."""
    (found,) = parse(content)
    assert isinstance(found, Reject)
    assert found.code == code


def test_one_bad_class_does_not_take_the_others_with_it() -> None:
    """A class without a name and a second one of the same name are rejects of their own, and no key comes twice."""
    found = parse(package({"name": "A"}, {"docu": "x"}, {"name": "A", "methods": "none"}, {"name": "B", "methods": [3, {}]}))
    assert [(type(item).__name__, item.key) for item in found] == [
        ("Topic", "p.A"),
        ("Reject", "p.(2)"),
        ("Reject", "p.A.(3)"),
        ("Topic", "p.B"),
        ("Reject", "p.B.(members)"),
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"methods": {"0": {"name": "m"}}}, "methods is no list"),
        ({"fields": ["x"]}, "entry 1 of fields is no object"),
        ({"docu": 5.0}, "docu is no text"),
        ({"constructors": [{"name": "C", "docu": ["x"]}]}, "docu of entry 1 of constructors is no text"),
    ],
)
def test_members_of_another_shape_are_said(fields: dict[str, Any], said: str) -> None:
    """What cannot be read of a class stands beside its topic as a reject that says where it is."""
    found, reject = parse(package({"name": "C", **fields}))
    assert isinstance(found, Topic)
    assert isinstance(reject, Reject)
    assert (reject.key, reject.code) == ("p.C.(members)", "bad-member")
    assert said in reject.reason


def test_bytes_that_are_not_utf8_are_read_as_windows_1252() -> None:
    """A stray byte costs no package; byte order marks are JSON's business and ours."""
    (found,) = parse(package({"name": "A", "docu": "caf\u00e9"}).replace(b"\\u00e9", b"\xe9"))
    assert isinstance(found, Topic)
    assert found.blocks[0].text == "café"
    assert isinstance(parse(b"\xef\xbb\xbf" + package({"name": "A"}))[0], Topic)


@pytest.mark.parametrize(
    "docu", ["<p>" * 10_000, "<div>" * 10_000 + "x", "[Docs](" * 5_000, "A" * 200_000, "a\0b\ud800c", "{@link " * 5_000]
)
def test_hostile_descriptions_never_raise(docu: str) -> None:
    """Depth, length, NUL and lone surrogates in a description give a topic or a reject of that class, with clean text."""
    (found,) = parse(package({"name": "A", "docu": docu}))
    if isinstance(found, Topic):
        assert all("\0" not in block.text and block.text.encode() for block in found.blocks)
    else:
        assert found.key == "p.A"


@QUICK
@given(st.binary(max_size=1000))
def test_any_bytes_give_at_least_one_result(content: bytes) -> None:
    """Random bytes never raise and never vanish."""
    assert len(parse(content)) >= 1


@QUICK
@given(
    st.sampled_from(sorted((SAMPLES_DIR / "javadoc").glob("*.json"))),
    st.lists(st.tuples(st.floats(0, 0.999), st.binary(max_size=3)), max_size=4),
)
def test_mutated_samples_never_raise(sample: Path, edits: list[tuple[float, bytes]]) -> None:
    """Bytes put into real files give topics or rejects with unique keys, the same each time."""
    content = sample.read_bytes()
    for place, piece in edits:
        at = int(place * len(content))
        content = content[:at] + piece + content[at + len(piece) :]
    found = parse(content, sample.name)
    assert found
    assert len({item.key for item in found}) == len(found)
    assert found == parse(content, sample.name)


@QUICK
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["name", "docu", "classes", "methods", "fields", "params", "type"]), inner, max_size=5
            )
        ),
        max_leaves=30,
    )
)
def test_any_json_in_any_place_never_raises(value: Any) -> None:
    """JSON of the wrong shape, wherever it stands, is read as far as it goes, and each class is a topic or a reject."""
    assert len(parse(json.dumps(value).encode())) >= 1
    whole = {"name": "A", "methods": value, "docu": value, "fields": [value], "constructors": value}
    assert len([item for item in parse(package(value, whole)) if not item.key.endswith(".(members)")]) == 2


def test_the_sample_packages_are_in_the_real_shape() -> None:
    """Three package files, eleven classes, one empty package; `addWindow` has several overloads."""
    raws = [item for item in SOURCE.export(SAMPLES) if isinstance(item, RawDocument)]
    found = {item.key: item for raw in raws for item in SOURCE.parse(raw, SAMPLES, no_resource)}
    assert [raw.key for raw in raws] == [
        "com.basis.bbj.proxies.json",
        "com.basis.bbj.proxies.sysgui.json",
        "com.basiscomponents.json",
    ]
    assert [key for key, item in found.items() if isinstance(item, Reject)] == ["com.basiscomponents.json"]
    assert len(found) == 12
    sysgui = found["com.basis.bbj.proxies.BBjSysGui"]
    assert isinstance(sysgui, Topic)
    assert sum(signature.startswith("addWindow(") for signature in sysgui.metadata["signatures"]) == 7
