"""The ``wordpress`` kind: its options, and the export of one raw document a post.

Reading a dump, asking a site and parsing HTML are the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pydantic import Field

from bbj_pipeline.records import RawDocument, Reject, Topic, Unfetched
from bbj_pipeline.sources.contract import NOTHING_EARLIER, EarlierExport, InputFiles, ReadResource, Source
from bbj_pipeline.sources.http import HttpClient, NetworkOptions, origin_of, recorded_folder
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.replay.wordpress import Recorded, serve_wordpress
from bbj_pipeline.sources.wordpress.dump import list_dump, read_dump
from bbj_pipeline.sources.wordpress.live import Reading, read_site
from bbj_pipeline.sources.wordpress.parse import parse_post
from bbj_pipeline.sources.wordpress.shapes import canonical, gmt_as_iso, term_key
from bbj_pipeline.sources.wordpress.spooled import SpooledObjects

__all__ = ["WordPressOptions", "WordPressSource"]

_JSON = "application/json"
_UNKNOWN_SITE = "http://replay.invalid"
"""The public origin of a dump that does not say where it came from (RFC 2606: never resolves)."""


class WordPressOptions(NetworkOptions):
    """Options of one WordPress site or of one recorded dump."""

    types: tuple[str, ...] = Field(
        default=("post", "page"),
        min_length=1,
        description="Post types to ask a live site for; a dump and its replay hold what was recorded.",
    )
    refetch_days: int = Field(
        default=30,
        ge=0,
        le=3650,
        description="Days after which a post is fetched again although it says that it did not change: a synced pattern, a "
        "plug-in or a theme changes posts unsaid. 0 fetches everything every time.",
    )


class WordPressSource(Source[WordPressOptions]):
    """Posts, pages and custom types of a WordPress site."""

    kind = "wordpress"
    title = "WordPress REST API"
    parser_version = "3"
    options_type = WordPressOptions

    def files(self, options: WordPressOptions) -> AbstractContextManager[InputFiles] | None:
        """List the files of a dump; a site, live or replayed, is asked."""
        return None if options.path is None else nullcontext(list_dump(recorded_folder(options, "wordpress")))

    def export(
        self, options: WordPressOptions, earlier: EarlierExport = NOTHING_EARLIER
    ) -> Iterator[RawDocument | Reject | Unfetched]:
        """Yield one document a post (key: its id), terms as resources ``term/<taxonomy>/<id>``, and everything else that a
        dump holds as a resource or a reject under its file's path."""
        opened = self.files(options)
        with Spool() as spool:
            if opened is None:
                yield from _records(_read(options, earlier, spool))
                return
            with opened as files:
                yield from _records(Reading(read_dump(files, SpooledObjects(spool))))

    def parse(self, raw: RawDocument, options: WordPressOptions, read: ReadResource) -> Iterator[Topic | Reject]:
        """Yield the topic of one post, or the reject that says why there is none."""
        yield parse_post(raw, options.public_url, read)


def _records(reading: Reading) -> Iterator[RawDocument | Reject | Unfetched]:
    objects = reading.objects
    records: dict[str, RawDocument | Reject | Unfetched] = {item.key: item for item in reading.unfetched}
    records.update(objects.rejects)
    records.update({key: RawDocument(key, body, _JSON, "resource") for key, body in objects.resources.items()})
    records.update({key: RawDocument(key, canonical(term), _JSON, "resource") for key, term in objects.terms.items()})
    for key in sorted(records.keys() | objects.documents.keys()):
        item = objects.documents.get(key)
        yield records[key] if item is None else _raw(key, item, objects.terms, reading.validators.get(key, {}))


def _read(options: WordPressOptions, earlier: EarlierExport, spool: Spool) -> Reading:
    if options.url is not None:
        host = origin_of(options.url).partition("//")[2]
        origins = frozenset((f"http://{host}", f"https://{host}"))  # sites move from http to https by redirect
        with HttpClient(origins, trusted=origins, limits=options.limits, delay=options.pause) as client:
            return read_site(client, options.url, options.types, earlier, spool, refetch_days=options.refetch_days)
    return _replayed(options, earlier, spool)


def _replayed(options: WordPressOptions, earlier: EarlierExport, spool: Spool) -> Reading:
    """Serve the dump on loopback and read it through the network code; what the API cannot carry comes from the dump."""
    with Spool() as recorded:
        dump = read_dump(list_dump(recorded_folder(options, "wordpress")), SpooledObjects(recorded))
        site = _public_origin(options.public_url, dump.documents.values())
        types = tuple(sorted({str(item.get("type", "post")) for item in dump.documents.values()})) or options.types
        with (
            serve_wordpress(Recorded(dump.documents, tuple(dump.terms.values()))) as served,
            HttpClient(frozenset({site}), routes={site: served}, limits=options.limits, delay=options.pause) as client,
        ):
            reading = read_site(client, site, types, earlier, spool, refetch_days=options.refetch_days)
    reading.objects.resources.update(dump.resources)
    reading.objects.rejects.update(dump.rejects)
    return reading


def _public_origin(template: str | None, documents: Iterable[Mapping[str, Any]]) -> str:
    """Return the origin the dump was recorded from: the configured public one, or the most frequent of the posts' links."""
    if template is not None:
        return origin_of(template)
    counts: dict[str, int] = {}
    for item in documents:
        try:
            origin = origin_of(str(item.get("link")))
        except ValueError:
            continue
        counts[origin] = counts.get(origin, 0) + 1
    return min(counts, key=lambda origin: (-counts[origin], origin), default=_UNKNOWN_SITE)


def _raw(
    key: str, item: Mapping[str, Any], terms: Mapping[str, Mapping[str, Any]], validators: Mapping[str, str]
) -> RawDocument:
    return RawDocument(
        key,
        canonical(item),
        _JSON,
        url=_link(item),
        last_modified=gmt_as_iso(item.get("modified_gmt")) or gmt_as_iso(item.get("date_gmt")),
        dependencies=_dependencies(item, terms),
        validators=validators,
    )


def _link(item: Mapping[str, Any]) -> str | None:
    """Return where the post is published; ``None`` when its link is no address on the web."""
    link = item.get("link")
    try:
        return link if isinstance(link, str) and origin_of(link) else None
    except ValueError:
        return None


def _dependencies(item: Mapping[str, Any], terms: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the keys of the terms whose names decide the post's section path and keywords, ancestors included."""
    found: set[str] = set()
    for name, taxonomy in (("categories", "category"), ("tags", "post_tag")):
        numbers = item.get(name)
        for number in numbers if isinstance(numbers, list) else ():
            key = term_key(taxonomy, number)
            while key in terms and key not in found:
                found.add(key)
                key = term_key(taxonomy, terms[key].get("parent"))
    return tuple(sorted(found))
