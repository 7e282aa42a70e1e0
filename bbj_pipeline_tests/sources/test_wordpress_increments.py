"""The second export of a WordPress site, and sites that fail in the middle: real HTTP on loopback, complete or said."""

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbj_pipeline.errors import SourceUnavailable
from bbj_pipeline.records import InstanceRef, RawDocument, Topic, Unfetched
from bbj_pipeline.sources.replay import Answer, serve
from bbj_pipeline.sources.replay.wordpress import WordPressReplay
from bbj_pipeline.sources.wordpress import SOURCE, WordPressOptions
from bbj_pipeline.stages.chunking import chunk
from bbj_pipeline.stages.tagging import tag
from bbj_pipeline_tests.fakes import WordTokenizer
from bbj_pipeline_tests.paths import CORPORA
from bbj_pipeline_tests.sources.traffic import Traffic, as_earlier

BODY = "<p>" + "An order form with three fields. " * 40 + "</p>"
TERM = {"id": 3, "taxonomy": "category", "name": "Windows", "slug": "windows", "parent": 0}


def post(number: int, *, changed: str = "2025-01-01T10:00:00", text: str = BODY, **fields: Any) -> dict[str, Any]:
    return {
        "id": number, "type": "post", "status": "publish", "link": f"https://kb.example.org/p{number}/",
        "title": {"rendered": f"Post {number}"}, "content": {"rendered": text, "protected": False},
        "modified_gmt": changed, "categories": [3], **fields,
    }  # fmt: skip


def query(target: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(target).query).items()}


def positions(target: str) -> range:
    """The places (from 1) of the objects a page covers."""
    asked = query(target)
    size, page = int(asked["per_page"]), int(asked["page"])
    return range((page - 1) * size + 1, page * size + 1)


Filter = Callable[[str, Answer], Answer]


@dataclass
class Blog:
    """A WordPress site whose posts a test may change between two exports, behind a proxy that may misbehave."""

    posts: list[dict[str, Any]]
    proxy: Filter = lambda target, answer: answer
    traffic: Traffic = field(default_factory=Traffic)

    def answer(self, target: str) -> Answer:
        return self.proxy(target, WordPressReplay([*self.posts, TERM]).answer(target))

    def export(self, *rounds: Callable[[], None], **options: Any) -> list[list[Any]]:
        """Export, then once more after each of ``rounds``, each time with what the export before gave."""
        found: list[list[Any]] = []
        with serve(self.answer, self.traffic) as origin:
            values = {"url": origin, "attempts": 1, "delay": 0, "types": ["post"], **options}
            configured = WordPressOptions.model_validate(values)
            for change in (lambda: None, *rounds):
                change()
                self.traffic.reset()
                found.append(list(SOURCE.export(configured, as_earlier(found[-1] if found else ()))))
        return found

    def contents(self) -> list[str]:
        """Targets of the last export that gave posts in full."""
        return [target for target in self.traffic.targets() if "/posts" in target and "_fields" not in target]


def keyed(found: list[Any]) -> dict[str, Any]:
    return {item.key: item for item in found}


def documents(found: list[Any]) -> set[str]:
    return {item.key for item in found if getattr(item, "role", "") == "document"}


def nothing() -> None:
    """A round in which nothing changes."""


def numbered(*numbers: int) -> set[str]:
    return {str(number) for number in numbers}


# -- increments -----------------------------------------------------------------------------------------------------------


def test_an_unchanged_site_gives_no_post_again() -> None:
    """The second export lists keys only: no content crosses the wire, and the records are the same."""
    blog = Blog([post(n) for n in range(1, 251)])
    first, second = blog.export(nothing)
    assert second == first
    assert documents(first) == numbered(*range(1, 251))
    assert blog.contents() == []
    listed = [target for target in blog.traffic.targets() if "_fields" in target]
    assert [query(target)["_fields"] for target in listed] == ["id,modified_gmt"] * 4  # three pages and the end


def test_only_what_changed_is_fetched_and_what_is_gone_is_seen() -> None:
    """A changed, a new and a deleted post: two posts are fetched, the deleted one is not listed any more."""
    blog = Blog([post(n) for n in range(1, 151)])

    def change() -> None:
        blog.posts = [item for item in blog.posts if item["id"] not in (7, 20)]
        blog.posts += [
            post(20, changed="2025-03-01T08:00:00", text="<p>New text</p>"),
            post(400, changed="2025-03-02T08:00:00"),
        ]

    first, second = blog.export(change)
    assert documents(second) == documents(first) - {"7"} | {"400"}
    assert b"New text" in keyed(second)["20"].content
    same = documents(first) - {"7", "20"}
    assert all(keyed(second)[key] == keyed(first)[key] for key in same)
    assert {query(target).get("modified_after") for target in blog.contents()} == {"2025-03-01T07:59:59Z"}


def test_a_post_published_late_with_an_old_date_comes() -> None:
    """It is not in the earlier export, so it is asked for, however old it says it is."""
    blog = Blog([post(n, changed=f"2025-02-{n:02d}T00:00:00") for n in range(1, 21)])

    def change() -> None:
        blog.posts.append(post(99, changed="2019-05-05T05:05:05"))

    _, second = blog.export(change)
    assert "99" in documents(second)


def test_a_renamed_category_is_seen_although_no_post_changed() -> None:
    """Terms are read every time; their posts depend on them."""
    blog = Blog([post(1)])

    def change() -> None:
        renamed = {**TERM, "name": "Dialogs"}
        blog.proxy = lambda target, answer: WordPressReplay([renamed]).answer(target) if "/categories" in target else answer

    first, second = blog.export(change)
    assert keyed(second)["1"].dependencies == ("term/category/3",)
    assert b"Dialogs" in keyed(second)["term/category/3"].content
    assert keyed(second)["1"] == keyed(first)["1"]


def refuse(name: str) -> Filter:
    error = json.dumps(
        {"code": "rest_invalid_param", "message": name, "data": {"status": 400, "params": {name: "no"}}}
    ).encode()
    return lambda target, answer: Answer(400, error, "application/json") if name in query(target) else answer


def ignore(name: str) -> Callable[[Blog], Filter]:
    def proxy(blog: Blog) -> Filter:
        def answered(target: str, answer: Answer) -> Answer:
            value = query(target).get(name)
            return answer if value is None else WordPressReplay([*blog.posts, TERM]).answer(target.replace(name, "other"))

        return answered

    return proxy


def fail(name: str, status: int) -> Filter:
    """A guard or a plug-in that does not get along with a parameter, and says so in HTML."""
    return lambda target, answer: Answer(status, b"<html>No</html>") if name in query(target) else answer


def empty_after(target: str, answer: Answer) -> Answer:
    """A site whose clock is wrong: nothing ever changed after anything."""
    return Answer(200, b"[]", "application/json") if "modified_after" in target else answer


@pytest.mark.parametrize(
    "proxy",
    [
        lambda blog: refuse("_fields"), lambda blog: refuse("modified_after"), ignore("_fields"), ignore("modified_after"),
        lambda blog: empty_after, lambda blog: fail("_fields", 403), lambda blog: fail("_fields", 500),
        lambda blog: fail("modified_after", 406), lambda blog: fail("modified_after", 502),
    ],
    ids=["refuses _fields", "refuses modified_after", "ignores _fields", "ignores modified_after", "wrong clock",
         "guards _fields", "breaks on _fields", "guards modified_after", "breaks on modified_after"],
)  # fmt: skip
def test_a_site_without_increments_is_read_in_full(proxy: Callable[[Blog], Filter]) -> None:
    """Whatever a site does with the two parameters, the second export is what it would be without the first."""
    blog = Blog([post(n) for n in range(1, 131)])
    blog.proxy = proxy(blog)

    def change() -> None:
        blog.posts = [post(1, changed="2025-03-01T08:00:00", text="<p>New</p>"), *blog.posts[1:-1], post(500)]

    _, second, third = blog.export(change, nothing)
    (expected,) = Blog(blog.posts).export()
    strip = [(item.key, item.content) for item in expected]
    assert [(item.key, item.content) for item in second] == strip
    assert third == second


def test_posts_without_a_time_of_change_are_fetched_every_time() -> None:
    """What cannot be known to be the same is not taken for the same."""
    blog = Blog([post(n, changed="") for n in range(1, 4)])

    def change() -> None:
        blog.posts[0] = post(1, changed="", text="<p>Edited</p>")

    _, second = blog.export(change)
    assert b"Edited" in keyed(second)["1"].content


def test_posts_are_fetched_again_after_some_time() -> None:
    """What a plug-in or a synced pattern changed without saving the post is seen after ``refetch_days`` at the latest."""
    blog = Blog([post(1), post(2)])
    with serve(blog.answer, blog.traffic) as origin:
        values = {"url": origin, "attempts": 1, "delay": 0, "types": ["post"]}
        first = as_earlier(SOURCE.export(WordPressOptions.model_validate(values)))
        blog.posts = [post(1, text="<p>Unsaid</p>"), post(2, text="<p>Unsaid</p>")]
        read = date.fromisoformat(first["1"].validators["read"])
        old = replace(first["1"], validators={**first["1"].validators, "read": (read - timedelta(days=31)).isoformat()})
        second = as_earlier(SOURCE.export(WordPressOptions.model_validate(values), {**first, "1": old}))
        every_time = as_earlier(SOURCE.export(WordPressOptions.model_validate({**values, "refetch_days": 0}), first))
    assert b"Unsaid" in second["1"].content
    assert b"Unsaid" in every_time["1"].content
    assert b"Unsaid" in every_time["2"].content


def test_posts_of_another_site_are_not_taken_for_unchanged() -> None:
    """The same ids and times under another address are fetched."""
    blog = Blog([post(1)])
    (first,) = blog.export()
    other = Blog([post(1, text="<p>Other</p>")])
    with serve(other.answer, other.traffic) as origin:
        options = WordPressOptions.model_validate({"url": origin, "attempts": 1, "delay": 0, "types": ["post"]})
        found = keyed(list(SOURCE.export(options, as_earlier(first))))
    assert b"Other" in found["1"].content


def test_a_key_listing_that_falls_short_withholds_deletions() -> None:
    """The site counts more than it lists: the posts it did not list are not known to be gone."""
    blog = Blog([post(n) for n in range(1, 11)])

    def change() -> None:
        blog.posts.pop()
        blog.proxy = lambda target, answer: (
            Answer(answer.status, answer.content, answer.media_type, {"X-WP-Total": "10"}) if "/posts" in target else answer
        )

    _, second = blog.export(change)
    missing = keyed(second)["type/post"]
    assert isinstance(missing, Unfetched)
    assert missing.reason == "the site counts 10 objects and gave 9"


def test_a_replayed_dump_is_incremental_too() -> None:
    """The second reading of a recorded dump gives the same records."""
    for name in ("code-posts", "multilingual"):
        options = WordPressOptions.model_validate({"replay": CORPORA / "wordpress" / name})
        first = list(SOURCE.export(options))
        second = list(SOURCE.export(options, as_earlier(first)))
        assert second == first
        assert [item.validators for item in second if isinstance(item, RawDocument)] == [
            item.validators for item in first if isinstance(item, RawDocument)
        ]


# -- sites that fail in the middle ----------------------------------------------------------------------------------------


def breaks_on(*places: int, status: int = 500, fields_too: bool = False, drop_headers: bool = False) -> Filter:
    """Fail for every page that holds the content of one of the objects at ``places``."""

    def proxy(target: str, answer: Answer) -> Answer:
        hit = "/posts" in target and "per_page" in target and any(place in positions(target) for place in places)
        if hit and (fields_too or "_fields" not in target):
            return Answer(status)
        return Answer(answer.status, answer.content, answer.media_type) if drop_headers else answer

    return proxy


@pytest.mark.parametrize("drop_headers", [False, True])
@pytest.mark.parametrize("place", [1, 42, 100, 137, 230])
def test_one_post_that_breaks_its_page_costs_one_post(place: int, drop_headers: bool) -> None:
    """The page is read in smaller and smaller parts: 229 posts come, the broken one is Unfetched under its own key."""
    numbers = [2 * n for n in range(1, 231)]
    blog = Blog([post(n) for n in numbers], breaks_on(place, drop_headers=drop_headers))
    (found,) = blog.export()
    bad = str(numbers[place - 1])
    assert documents(found) == numbered(*numbers) - {bad}
    assert [item.key for item in found if isinstance(item, Unfetched)] == [bad]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 230), st.sets(st.integers(1, 230), max_size=12), st.booleans())
def test_whatever_breaks_the_listing_is_complete_or_failed(count: int, places: set[int], drop_headers: bool) -> None:
    """Any posts may be broken: exactly they are Unfetched, unless so many in a row are that the site counts as down."""
    broken = {place for place in places if place <= count}
    blog = Blog([post(n, text="<p>x</p>") for n in range(1, count + 1)], breaks_on(*broken, drop_headers=drop_headers))
    try:
        (found,) = blog.export()
    except SourceUnavailable:
        assert any({place + n for n in range(5)} <= broken for place in broken)
        return
    assert {item.key for item in found if isinstance(item, Unfetched)} == numbered(*broken)
    assert documents(found) == numbered(*range(1, count + 1)) - numbered(*broken)


def test_a_broken_post_is_kept_broken_until_it_heals() -> None:
    """In an increment too it is Unfetched, not gone; when the site gives it again it is a document."""
    blog = Blog([post(n) for n in range(1, 121)])

    def breaks() -> None:
        blog.posts[49] = post(50, changed="2025-04-01T00:00:00")
        blog.proxy = lambda target, answer: (
            Answer(500) if b'"id": 50,' in answer.content and b'"content"' in answer.content else answer
        )

    def heals() -> None:
        blog.proxy = lambda target, answer: answer

    first, second, third = blog.export(breaks, heals)
    assert [item.key for item in second if isinstance(item, Unfetched)] == ["50"]
    assert documents(second) == documents(first) - {"50"}
    assert documents(third) == documents(first)


def test_a_post_that_does_not_even_say_its_id_is_named_by_its_place() -> None:
    """Nothing is known but where it stands: the export is incomplete and says so."""
    blog = Blog([post(n) for n in range(11, 21)], breaks_on(4, fields_too=True))
    (found,) = blog.export()
    assert [item.key for item in found if isinstance(item, Unfetched)] == ["type/post@4"]
    assert documents(found) == numbered(*range(11, 21)) - {"14"}


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_site_that_goes_down_in_the_middle_is_unavailable(status: int) -> None:
    """Page 2 and everything in it fails: no short listing, and no endless search for a bad post."""
    blog = Blog([post(n) for n in range(1, 301)], breaks_on(*range(101, 301), status=status))
    with pytest.raises(SourceUnavailable, match=f"answers {status}"):
        blog.export()
    assert len(blog.traffic.answers) < 20


def test_throttling_is_waited_for() -> None:
    """429 with Retry-After in the middle of a listing costs the time the site asks for and no post (real time)."""
    throttled = iter([True])

    def proxy(target: str, answer: Answer) -> Answer:
        second = "/posts" in target and query(target)["page"] == "2"
        return Answer(429, headers={"Retry-After": "1"}) if second and next(throttled, False) else answer

    blog = Blog([post(n) for n in range(1, 151)], proxy)
    begun = time.monotonic()
    (found,) = blog.export(attempts=2)
    assert documents(found) == numbered(*range(1, 151))
    assert time.monotonic() - begun >= 1
    assert Counter(status for _, status, _ in blog.traffic.answers)[429] == 1


def test_a_page_too_slow_for_the_time_out_is_read_in_parts() -> None:
    """A hundred posts take longer than the site may be silent, fifty do not (real time)."""

    def proxy(target: str, answer: Answer) -> Answer:
        if "/posts" in target and query(target)["per_page"] == "100":
            time.sleep(1.4)
        return answer

    blog = Blog([post(n) for n in range(1, 61)], proxy)
    (found,) = blog.export(timeout=0.8)
    assert documents(found) == numbered(*range(1, 61))


def test_a_site_that_allows_fewer_objects_a_page_is_read() -> None:
    """WordPress refuses a size over the site's bound by name: the next smaller one is asked for."""

    def proxy(target: str, answer: Answer) -> Answer:
        return refuse("per_page")(target, answer) if int(query(target).get("per_page", 0)) > 30 else answer

    (found,) = Blog([post(n) for n in range(1, 81)], proxy).export()
    assert documents(found) == numbered(*range(1, 81))


def test_a_failing_page_of_a_site_that_cuts_its_pages_is_not_divided() -> None:
    """Where 100 are asked for and 40 come, the places of a failing page are not known: unavailable, never short."""
    posts = [post(n) for n in range(1, 121)]

    def proxy(target: str, answer: Answer) -> Answer:
        if "/posts" not in target:
            return answer
        asked = query(target)
        cut = WordPressReplay(posts).answer(
            target.replace(f"per_page={asked['per_page']}", f"per_page={min(40, int(asked['per_page']))}")
        )
        return Answer(500) if asked["page"] == "2" else Answer(cut.status, cut.content, cut.media_type)

    with pytest.raises(SourceUnavailable, match="answers 500"):
        Blog(posts, proxy).export()


def test_a_category_the_site_fails_to_give_keeps_its_name() -> None:
    """Its posts stay in their section, and the export says what did not come."""
    blog = Blog([post(1)])

    def breaks() -> None:
        blog.proxy = lambda target, answer: (
            Answer(500) if "/categories" in target and "_fields" not in target and 1 in positions(target) else answer
        )

    first, second = blog.export(breaks)
    assert keyed(second)["1"] == keyed(first)["1"]
    assert keyed(second)["term/category/3"] == keyed(first)["term/category/3"]
    assert isinstance(keyed(second)["taxonomy/category#3"], Unfetched)


def test_a_stranger_in_a_listing_is_a_reject() -> None:
    """An object without a usable id is named, whatever it is, and the others come."""

    def proxy(target: str, answer: Answer) -> Answer:
        if "/posts" not in target or answer.status != 200:
            return answer
        odd: list[Any] = ["text", {"id": [1], "title": {"rendered": "x"}}, {"id": None}]
        return Answer(200, json.dumps([*json.loads(answer.content), *odd]).encode(), answer.media_type)

    (found,) = Blog([post(1)], proxy).export()
    assert documents(found) == {"1"}
    assert {getattr(item, "code", None) for item in found if item.key.startswith("type/post")} == {
        "not-an-object", "unknown-shape",
    }  # fmt: skip


# -- identity -------------------------------------------------------------------------------------------------------------


def test_keys_and_chunk_ids_of_the_dumps_are_unique() -> None:
    """A post recorded in several files and languages is one document; no two chunks of any instance share an id."""
    ids: Counter[str] = Counter()
    for name in ("code-posts", "multilingual"):
        options = WordPressOptions.model_validate({"path": CORPORA / "wordpress" / name})
        raws = list(SOURCE.export(options))
        assert len({raw.key for raw in raws}) == len(raws)
        contents = {raw.key: raw.content for raw in raws if isinstance(raw, RawDocument)}
        parsed = (SOURCE.parse(raw, options, contents.__getitem__) for raw in raws if getattr(raw, "role", "") == "document")
        for topic in itertools.chain.from_iterable(parsed):
            if isinstance(topic, Topic):
                doc = tag(topic, default_generations=(), default_doc_type="concept")
                ids.update(piece.chunk_id(InstanceRef("wordpress", name)) for piece in chunk(doc, WordTokenizer()))
    assert ids
    assert max(ids.values()) == 1
