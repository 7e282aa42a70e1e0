"""The wordpress source on small posts of our own: shapes of code, chrome, shortcodes, and sites that misbehave."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbj_pipeline.errors import ConfigurationError, SourceUnavailable
from bbj_pipeline.records import Block, RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.settings import SAMPLES_DIR
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.replay.wordpress import WordPressReplay
from bbj_pipeline.sources.wordpress import SOURCE, WordPressOptions


def post(number: int = 7, content: str | None = "<p>Text</p>", **fields: Any) -> dict[str, Any]:
    body = {} if content is None else {"content": {"rendered": content, "protected": False}}
    link = f"https://kb.example.org/p{number}/"
    return {"id": number, "type": "post", "status": "publish", "link": link, "title": {"rendered": "T"}, **body, **fields}


def no_resource(key: str) -> bytes:
    raise KeyError(key)


def parse(item: dict[str, Any], **options: Any) -> Topic | Reject:
    raw = RawDocument(str(item["id"]), json.dumps(item).encode(), url=item.get("link"))
    (result,) = SOURCE.parse(raw, WordPressOptions.model_validate({"path": "/x", **options}), no_resource)
    return result


def blocks(content: str) -> tuple[Block, ...]:
    result = parse(post(content=content))
    assert isinstance(result, Topic), result
    return result.blocks


def texts(content: str) -> list[str]:
    return [block.text for block in blocks(content)]


def write(folder: Path, files: dict[str, Any]) -> Path:
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return folder


def exported(folder: Path, mode: str = "path") -> dict[str, Any]:
    return {item.key: item for item in SOURCE.export(WordPressOptions.model_validate({mode: folder}))}


CODE = 'FOR i=1 TO 3\n    PRINT a$[i],"<b>"\nNEXT i'
ESCAPED = 'FOR i=1 TO 3\n    PRINT a$&#91;i],"&lt;b&gt;"\nNEXT i'
HIGHLIGHTED = "".join(f'<div class="line">{line}</div>' for line in ESCAPED.split("\n"))


@pytest.mark.parametrize(
    ("markup", "language", "title"),
    [
        (f'<pre class="wp-block-code"><code lang="bbj" class="language-bbj">{ESCAPED}</code></pre>', "bbj", None),
        (f'<pre class="wp-block-code"><code>{ESCAPED}</code></pre>', None, None),
        (f'<pre class="wp-block-preformatted"><samp>{ESCAPED}</samp></pre>', None, None),
        (f'<pre class="brush: bbj; title: Loop; notranslate" title="Loop">\n{ESCAPED}\n</pre>', "bbj", "Loop"),
        (f'<pre class="brush: plain; title: ; notranslate" title="">\n{ESCAPED}</pre>', None, None),
        (f'<pre class="EnlighterJSRAW" data-enlighter-language="BBj">{ESCAPED}</pre>', "bbj", None),
        (f'<pre lang="bbj" line="1">{ESCAPED}</pre>', "bbj", None),
        (f"<pre>{ESCAPED}</pre>".replace("\n", "<br />"), None, None),
        (
            '<div class="crayon-syntax"><div class="crayon-toolbar"><span class="crayon-title">Loop</span>'
            '<span class="crayon-language">BBj</span></div><div class="crayon-plain-wrap"><textarea class="crayon-plain">'
            f'{ESCAPED}</textarea></div><table><tr><td class="crayon-nums">1 2 3</td><td>{HIGHLIGHTED}</td></tr></table></div>',
            "bbj", "Loop",
        ),
        (
            '<div id="highlighter_1" class="syntaxhighlighter bbj"><table><tr><td class="gutter"><div>1</div></td>'
            f'<td class="code"><div class="container">{HIGHLIGHTED}</div></td></tr></table></div>',
            "bbj", None,
        ),
        (
            '<div class="wp_syntax"><table><tr><td class="line_numbers"><pre>1\n2\n3\n</pre></td>'
            f'<td class="code"><pre class="bbj" style="font-family:monospace;">{ESCAPED}</pre></td></tr></table></div>',
            "bbj", None,
        ),
        (f'<p>[code language="bbj"]{ESCAPED}[/code]</p>'.replace("\n", "<br />\n"), "bbj", None),
    ],
)  # fmt: skip
def test_code_is_read_once_whatever_wrote_it(markup: str, language: str | None, title: str | None) -> None:
    """Each editor and highlighter has its own shape; the code comes out verbatim, once, with its language and title."""
    (block,) = blocks(markup)
    assert (block.type, block.text, block.language, block.title) == ("code", CODE, language, title)


@pytest.mark.parametrize(
    "chrome",
    [
        '<div id="toc_container" class="no_bullets"><p class="toc_title">Contents</p><ul><li>1 Start</li></ul></div>',
        '<div id="ez-toc-container"><p>Table of Contents</p><nav><ul><li><a href="#a">A</a></li></ul></nav></div>',
        '<div class="sharedaddy sd-sharing-enabled"><h3>Share this:</h3><ul><li>Mail</li></ul></div>',
        '<div id="jp-relatedposts" class="jp-relatedposts"><h3>Related</h3></div>',
        '<div class="addtoany_share_save_container">Share</div>',
        "<form><label>Your name <input></label><button>Send</button></form>",
        '<script>var a = "words";</script><style>p { color: red }</style><noscript>Enable JavaScript</noscript>',
    ],
)
def test_what_plug_ins_put_into_a_post_is_not_its_text(chrome: str) -> None:
    """Tables of contents, sharing and forms are chrome; what stands before and after them stays."""
    assert texts(f"<p>Before</p>{chrome}<p>After</p>") == ["Before", "After"]


def test_known_shortcodes_go_and_brackets_of_prose_stay() -> None:
    """Only shortcodes known by name are removed, never brackets that an author wrote."""
    html = '<p>[vc_row el_class="x"][vc_column]Read [sic] the array a[1] [optional] [row 2][/vc_column][/vc_row]</p>'
    assert texts(html) == ["Read [sic] the array a[1] [optional] [row 2]"]
    assert texts('<p>[caption id="a_1" width="300"]<img src="x.png"> A window[/caption]</p>') == ["A window"]
    assert texts('<p>Use <code>[gallery]</code> or [gallery ids="1,2"] here</p>') == ["Use [gallery] or here"]
    assert texts("<pre>[caption]x[/caption]</pre>") == ["[caption]x[/caption]"]
    assert texts("<p>See [table 3], [button], [code] and [more].</p>") == ["See [table 3], [button], [code] and [more]."]


def test_remains_of_word_are_not_text() -> None:
    """Conditional comments of Microsoft Word are dropped in each form editors leave them in."""
    word = "<!--[if gte mso 9]><xml><w:WordDocument><w:View>Normal</w:View></w:WordDocument></xml><![endif]-->"
    assert texts(f"{word}<p>One</p>") == ["One"]
    assert texts("<p><![if !supportLists]>1.<![endif]> Two</p>") == ["1. Two"]
    assert texts("<p>&lt;!&#8211;[if gte mso 9]&gt;Normal 0 false&lt;![endif]&#8211;&gt;Three</p>") == ["Three"]
    assert texts("<pre>&lt;!--[if mso]&gt;x&lt;![endif]--&gt;</pre>") == ["<!--[if mso]>x<![endif]-->"]


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (post(content=None), "no-content"),
        (post(content="  \n"), "empty"),
        (post(content='<figure><img src="x.png"></figure>'), "no-text"),
        (post(content={"rendered": "", "protected": True}), "protected"),  # type: ignore[arg-type]
        ({**post(), "content": {"rendered": "", "protected": True}}, "protected"),
        ({**post(), "protected": True}, "protected"),
        (post(status="draft"), "not-published"),
        (post(status="private"), "not-published"),
    ],
)
def test_a_post_without_text_says_why(item: dict[str, Any], code: str) -> None:
    """Protected, trimmed, empty and unpublished posts are rejects with a stable code, never empty topics."""
    if isinstance(item.get("content"), dict) and isinstance(item["content"].get("rendered"), dict):
        item["content"] = item["content"]["rendered"]
    result = parse(item)
    assert isinstance(result, Reject)
    assert (result.key, result.code) == ("7", code)
    assert result.reason


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"null", b'"x"', b"{", b"[" * 100_000])
def test_broken_raw_documents_are_rejects(content: bytes) -> None:
    """The parser never raises, whatever the stored bytes are."""
    (result,) = SOURCE.parse(RawDocument("7", content), WordPressOptions.model_validate({"path": "/x"}), no_resource)
    assert isinstance(result, Reject)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.text(max_size=6), st.sampled_from(["post", "draft", "<p>x"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["rendered", "id", "name", "x"]), inner),
)
FIELDS = st.sampled_from(
    ["id", "type", "status", "title", "content", "link", "slug", "taxonomy", "name", "categories", "tags", "parent", "code",
     "message", "modified_gmt", "protected", "rest_base", "media_type"]
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(FIELDS, JSON))
def test_no_object_makes_the_source_raise(tmp_path_factory: pytest.TempPathFactory, item: dict[str, Any]) -> None:
    """A recorded object of any shape is a document, a term, a resource or a reject, and a document parses or says why not."""
    folder = write(tmp_path_factory.mktemp("dump"), {"a.json": {"id": 7, **item}})
    found = exported(folder)
    assert len(found) == 1
    contents = {key: value.content for key, value in found.items() if isinstance(value, RawDocument)}
    for raw in found.values():
        if isinstance(raw, RawDocument) and raw.role == "document":
            (result,) = SOURCE.parse(raw, WordPressOptions.model_validate({"path": folder}), contents.__getitem__)
            assert result.reason if isinstance(result, Reject) else result.blocks


def test_a_title_is_text() -> None:
    """Entities and tags of a title are resolved; a missing one is replaced by the first heading, then the slug."""
    result = parse(post(title={"rendered": "If, If&#8230;Else &amp; <em>Nested</em> &lt;code&gt;"}))
    assert isinstance(result, Topic)
    assert result.title == "If, If…Else & Nested <code>"
    untitled = parse(post(title={"rendered": ""}, content="<h2>First</h2><p>x</p>"))
    assert isinstance(untitled, Topic)
    assert untitled.title == "First"


def test_the_public_url_replaces_the_recorded_one() -> None:
    """``public_url`` takes the path of the post's link."""
    result = parse(post(), public_url="https://public.example.org/kb/{path}")
    assert isinstance(result, Topic)
    assert result.url == "https://public.example.org/kb/p7/"


def test_the_newest_version_with_content_wins(tmp_path: Path) -> None:
    """Of a post recorded several times the latest change counts, and one with content beats one without."""
    old = post(content="<p>old</p>", modified_gmt="2024-01-01T00:00:00")
    new = post(content="<p>new</p>", modified_gmt="2025-01-01T00:00:00")
    trimmed = post(content=None, modified_gmt="2026-01-01T00:00:00")
    folder = write(
        tmp_path,
        {"a.json": new, "b.json": [old], "c.json": [trimmed, post(8)], "d.json": {"body": [old], "status": 200, "headers": {}}},
    )
    found = exported(folder)
    assert sorted(found) == ["7", "8"]
    assert json.loads(found["7"].content)["content"]["rendered"] == "<p>new</p>"
    assert found["7"].last_modified == "2025-01-01T00:00:00Z"


def test_each_shape_of_a_dump_is_recognised(tmp_path: Path) -> None:
    """Media, users, comments, types and indexes are resources; errors, HTML and strangers are rejects; links stay inside."""
    (tmp_path / "secret.json").write_text(json.dumps(post(66)))
    folder = write(
        tmp_path / "dump",
        {
            "posts/7.json": post(),
            "media.json": {"id": 1, "type": "attachment", "title": {"rendered": "x"}, "link": "https://x.example.org/"},
            "users.json": {"id": 2, "name": "Ann", "link": "https://x.example.org/", "avatar_urls": {}},
            "comment.json": {"id": 3, "post": 7, "author_name": "Bob", "content": {"rendered": "Hi"}, "type": "comment"},
            "types.json": {"post": {"rest_base": "posts"}, "page": {"rest_base": "pages"}},
            "index.json": {"namespace": "wp/v2", "routes": {}},
            "block.json": {"id": 9, "type": "wp_block", "title": {"raw": "x"}, "link": "https://x.example.org/"},
            "empty.json": [],
            "error.json": {"code": "rest_forbidden", "message": "Sorry", "data": {"status": 401}},
            "page.html": "<html>Not JSON</html>",
            "deep.json": "[" * 100_000,
            "stranger.json": {"hello": "world"},
            "number.json": [1, 2],
        },
    )
    os.symlink(tmp_path / "secret.json", folder / "leak.json")
    os.symlink(tmp_path / "nothing", folder / "dangling.json")
    found = exported(folder)
    resources = {key for key, item in found.items() if getattr(item, "role", "") == "resource"}
    rejects = {key: item.code for key, item in found.items() if isinstance(item, Reject)}
    assert resources == {"media.json", "users.json", "comment.json", "types.json", "index.json", "block.json"}
    assert rejects == {
        "error.json": "rest-error", "page.html": "not-json", "deep.json": "not-json", "stranger.json": "unknown-shape",
        "number.json#0": "not-an-object", "number.json#1": "not-an-object", "leak.json": "outside-root",
        "dangling.json": "outside-root", "empty.json": "empty-page",
    }  # fmt: skip
    assert set(found) == resources | set(rejects) | {"7"}
    assert exported(folder, "replay") == found


def test_sections_follow_the_parents_of_a_category(tmp_path: Path) -> None:
    """A category stands under its ancestors; tags and further categories are keywords; a ring of parents ends."""
    terms = [
        {"id": 1, "taxonomy": "category", "name": "Errors &amp; Faults", "slug": "e", "parent": 0, "count": 5},
        {"id": 2, "taxonomy": "category", "name": "File", "slug": "f", "parent": 1},
        {"id": 3, "taxonomy": "category", "name": "Ring", "slug": "r", "parent": 3},
        {"id": 4, "taxonomy": "category", "name": "Uncategorized", "slug": "uncategorized", "parent": 0},
        {"id": 2, "taxonomy": "post_tag", "name": "Locks", "slug": "l"},
    ]
    folder = write(
        tmp_path,
        {
            "posts.json": [post(categories=[2, 3, 99], tags=[2]), post(8, categories=[4]), post(9, type="recipe")],
            "terms.json": terms,
        },
    )
    options = WordPressOptions.model_validate({"replay": folder})
    found = {item.key: item for item in SOURCE.export(options)}
    contents = {key: item.content for key, item in found.items() if isinstance(item, RawDocument)}
    parsed = {}
    for key in ("7", "8", "9"):
        raw = found[key]
        assert isinstance(raw, RawDocument)
        (parsed[key],) = SOURCE.parse(raw, options, contents.__getitem__)
    assert (parsed["7"].section_path, parsed["7"].metadata["keywords"]) == (("Errors & Faults", "File"), ["Ring", "Locks"])
    assert (parsed["8"].section_path, parsed["9"].section_path) == ((), ("recipe",))


# -- live sites that misbehave --------------------------------------------------------------------------------------------


def live(handler: Callable[[str], Answer], **options: Any) -> dict[str, Any]:
    with serve(handler) as origin:
        settings = WordPressOptions.model_validate({"url": origin, "attempts": 1, "delay": 0, **options})
        return {item.key: item for item in SOURCE.export(settings)}


def site(count: int) -> WordPressReplay:
    return WordPressReplay([post(number) for number in range(1, count + 1)])


def documents(found: dict[str, Any]) -> set[str]:
    return {key for key, item in found.items() if getattr(item, "role", "") == "document"}


def test_all_pages_are_read_when_a_proxy_drops_the_headers() -> None:
    """The end of a collection is what the site answers: 230 posts come without any total in a header."""
    replay = site(230)

    def handler(target: str) -> Answer:
        answer = replay.answer(target)
        return Answer(answer.status, answer.content, answer.media_type)

    assert documents(live(handler)) == {str(number) for number in range(1, 231)}


def test_totals_that_are_too_small_do_not_cut_the_listing() -> None:
    """A stale X-WP-TotalPages is not believed."""
    replay = site(230)

    def handler(target: str) -> Answer:
        answer = replay.answer(target)
        return Answer(answer.status, answer.content, answer.media_type, {"X-WP-Total": "100", "X-WP-TotalPages": "1"})

    assert len(documents(live(handler))) == 230


def test_no_more_than_100_a_page_are_asked_for() -> None:
    """WordPress refuses more than 100."""
    replay = site(3)
    asked: list[str] = []

    def handler(target: str) -> Answer:
        asked.append(target)
        return replay.answer(target)

    live(handler)
    sizes = {parse_qs(urlsplit(target).query)["per_page"][0] for target in asked if "per_page" in target}
    assert sizes == {"100"}


def test_a_server_error_in_the_middle_is_no_short_listing() -> None:
    """A page 2 of 100 that always fails is read in parts: half a listing would look like deleted posts."""
    replay = site(230)

    def handler(target: str) -> Answer:
        return Answer(500) if "per_page=100&page=2&" in target else replay.answer(target)

    assert documents(live(handler)) == {str(number) for number in range(1, 231)}


def test_a_passing_server_error_is_tried_again() -> None:
    """One 503 costs a retry, no document."""
    replay = site(3)
    failures = iter([True])

    def handler(target: str) -> Answer:
        failing = "/posts" in target and next(failures, False)
        return Answer(503, headers={"Retry-After": "0"}) if failing else replay.answer(target)

    assert len(documents(live(handler, attempts=2))) == 3


def test_a_site_that_ignores_the_page_number_is_found_out() -> None:
    """The same full page again and again is neither endless nor complete."""
    replay = site(230)

    def handler(target: str) -> Answer:
        answer = replay.answer(target.replace("&page=", "&other="))
        return Answer(answer.status, answer.content, answer.media_type)

    with pytest.raises(SourceUnavailable, match="gives page 1 of posts again as page 2"):
        live(handler)


def test_fewer_posts_than_counted_withholds_deletions() -> None:
    """When the site counts more than it gives, even after further passes, the export says so."""
    replay = site(5)

    def handler(target: str) -> Answer:
        answer = replay.answer(target)
        headers = {"X-WP-Total": "6"} if "/posts" in target else {}
        return Answer(answer.status, answer.content, answer.media_type, headers)

    missing = live(handler)["type/post"]
    assert isinstance(missing, Unfetched)
    assert missing.reason == "the site counts 6 objects and gave 5"


@pytest.mark.parametrize("body", [b"<html>Maintenance</html>", b"", b'{"posts": []}'])
def test_something_else_than_a_listing_is_unavailable(body: bytes) -> None:
    """A login or maintenance page in place of JSON raises; it is never an empty site."""
    replay = site(3)

    def handler(target: str) -> Answer:
        return Answer(200, body) if "/posts" in target else replay.answer(target)

    with pytest.raises(SourceUnavailable):
        live(handler)


def test_plain_permalinks_are_asked_by_rest_route() -> None:
    """Without pretty permalinks the API is at ``?rest_route=``."""
    replay = site(3)

    def handler(target: str) -> Answer:
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        if parts.path != "/" or "rest_route" not in query:
            return Answer(404)
        rest = "&".join(f"{name}={values[0]}" for name, values in query.items() if name != "rest_route")
        return replay.answer(f"/wp-json{query['rest_route'][0]}?{rest}")

    assert len(documents(live(handler))) == 3


def test_custom_types_are_asked_for_by_name() -> None:
    """A type is found by its REST base; one the site does not have is a configuration error that lists those it has."""
    replay = WordPressReplay([post(1), post(2, type="recipe")])
    assert documents(live(replay.answer, types=["recipe"])) == {"2"}
    with pytest.raises(
        ConfigurationError, match="no collection 'videos': set \"types\" to types of this site: page, post, recipe"
    ):
        live(replay.answer, types=["post", "videos"])


def test_a_closed_list_of_types_does_not_close_the_site() -> None:
    """Security plug-ins answer 401 for types and users; posts and pages are still read, names of sections are not."""
    replay = site(3)

    def handler(target: str) -> Answer:
        closed = any(name in target for name in ("/types", "/categories", "/tags"))
        return Answer(401, b'{"code":"rest_forbidden"}') if closed else replay.answer(target)

    assert len(documents(live(handler))) == 3


def test_no_wordpress_at_all_is_said_so() -> None:
    """A site without the API is unavailable with a remedy, not empty."""
    with pytest.raises(SourceUnavailable, match="has no WordPress REST API"):
        live(lambda _: Answer(404))


@pytest.mark.parametrize("name", ["advantage", "kb"])
def test_the_samples_are_read_completely(name: str) -> None:
    """Each sample post is a topic with code or a table in it, or a page; the replay equals the folder; nothing is rejected."""
    folder = SAMPLES_DIR / "wordpress" / name
    found = exported(folder, "replay")
    assert found == exported(folder)
    files = {path.stem for kind in ("posts", "pages") for path in (folder / kind).glob("*.json")}
    assert documents(found) == files
    assert not any(isinstance(item, Reject | Unfetched) for item in found.values())
    assert "127.0.0.1" not in repr(found)
    contents = {key: item.content for key, item in found.items()}
    options = WordPressOptions.model_validate({"replay": folder})
    for key in files:
        (topic,) = SOURCE.parse(found[key], options, contents.__getitem__)
        assert isinstance(topic, Topic)
        assert topic.url
        assert topic.url.startswith(f"https://{name}.example.org/")
        if topic.metadata["type"] == "post":
            assert topic.section_path
