"""Reads a WordPress site through ``/wp-json/wp/v2/…``: configured post types, and the terms that name their categories.

Where an earlier export is known, the keys and times of change of all posts are listed, and only posts that changed are asked
for in full. Paging belongs to ``collection``; nothing is parsed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from bbj_pipeline.errors import ConfigurationError, SourceUnavailable
from bbj_pipeline.records import Unfetched
from bbj_pipeline.sources.contract import EarlierExport
from bbj_pipeline.sources.http import Gone, HttpClient, Refused
from bbj_pipeline.sources.http.spool import Spool
from bbj_pipeline.sources.replay.wordpress import REST_BASES
from bbj_pipeline.sources.wordpress.collection import Api, Collection, CollectionRefused, read_collection
from bbj_pipeline.sources.wordpress.dump import Objects
from bbj_pipeline.sources.wordpress.shapes import gmt_as_iso, term_key
from bbj_pipeline.sources.wordpress.spooled import SpooledObjects

__all__ = ["Reading", "read_site"]

_TAXONOMIES = ("category", "post_tag")
_KEYS = "id,modified_gmt"


@dataclass
class Reading:
    """What an instance holds, what did not come, and by what a later export recognises each post (by key)."""

    objects: Objects = field(default_factory=Objects)
    unfetched: list[Unfetched] = field(default_factory=list)
    validators: dict[str, Mapping[str, str]] = field(default_factory=dict)


def read_site(
    client: HttpClient, site: str, types: tuple[str, ...], earlier: EarlierExport, spool: Spool, *, refetch_days: int
) -> Reading:
    """Read all documents of ``types`` (names or REST bases) and the terms of the site at ``site``.

    Posts are put into ``spool`` as their page comes: memory holds one page, and the keys and times of all posts.
    ``unfetched`` names posts and terms that did not come, and collections of which fewer objects came than the site says it
    has. A post that came ``refetch_days`` ago is asked for again even if it says that it did not change.
    Raises ``SourceUnavailable`` when a listing cannot be completed and ``ConfigurationError`` for a type the site does not
    have.
    """
    api, known = _discover(client, site.rstrip("/").removesuffix("/wp-json"))
    today = datetime.fromtimestamp(client.clock.now(), UTC).date()
    objects = Objects(SpooledObjects(spool))
    reader = _Reader(api, site, earlier, today, timedelta(days=refetch_days), Reading(objects))
    for name in types:
        base = known.get(name, REST_BASES.get(name, name))
        try:
            reader.read_type(name, base)
        except Gone:
            remedy = f'set "types" to types of this site: {", ".join(sorted(known)) or "see /wp-json/wp/v2/types"}'
            raise ConfigurationError(f"{api.site} has no collection {base!r}", remedy=remedy) from None
    for taxonomy in _TAXONOMIES:
        reader.read_terms(taxonomy)
    return reader.result


def _discover(client: HttpClient, site: str) -> tuple[Api, Mapping[str, str]]:
    """Find out how the API is addressed, and the REST base of each type if the site tells."""
    for plain in (False, True):
        api = Api(client, site, plain)
        try:
            reply = api.get("types")
        except Gone:
            continue
        except Refused as error:
            raise SourceUnavailable(error.reason, remedy="check the URL and the access of the site") from None
        if reply.status != 200:
            return api, {}  # security plug-ins close this list and leave the collections open
        try:
            described = reply.json()
        except (ValueError, RecursionError):
            continue
        if isinstance(described, Mapping):
            entries = {slug: entry for slug, entry in described.items() if isinstance(entry, Mapping)}
            return api, {slug: str(entry.get("rest_base") or slug) for slug, entry in entries.items()}
    raise SourceUnavailable(
        f"{site} has no WordPress REST API", remedy="check the URL; the API must be reachable at /wp-json or ?rest_route="
    )


@dataclass
class _Reader:
    """Reads types and terms of one site into ``result``."""

    api: Api
    site: str
    earlier: EarlierExport
    today: date
    refetch: timedelta
    result: Reading

    def read_type(self, name: str, base: str) -> None:
        """Read one type: its changes since the earlier export where that is possible, all of it otherwise."""
        with Spool() as spool:  # beside the result's: a reading that is given up leaves nothing
            if self.earlier and self._read_changes(name, base, spool):
                return
        with Spool() as spool:
            self._keep(name, read_collection(self.api, base, SpooledObjects(spool)), {})

    def _read_changes(self, name: str, base: str, spool: Spool) -> bool:
        """List all keys, fetch the posts that changed, and take the others from the earlier export.

        False means that nothing was kept and the whole type must be read: the site cannot answer the queries, does not say
        when posts changed, or does not give those that did.
        """
        keys = self._asked(base, SpooledObjects(spool), _fields=_KEYS)
        if keys is None:
            return False
        posts: SpooledObjects[int] = SpooledObjects(spool)
        validators: dict[int, Mapping[str, str]] = {}
        stale: dict[int, str | None] = {}
        for identity, item in keys.items.items():
            if "title" in item:  # _fields is ignored: these are the posts themselves
                self._keep(name, keys, {})
                return True
            known = self._unchanged(item)
            if known is None:
                stale[identity] = gmt_as_iso(item.get("modified_gmt"))
            else:
                posts[identity], validators[identity] = known
        changes = Collection()
        if stale:
            since = _just_before(stale.values())
            found = self._asked(base, SpooledObjects(spool), modified_after=since) if posts and since is not None else None
            if found is None or not stale.keys() <= found.items.keys() | found.lost:
                return False
            changes = found
        for identity, item in changes.items.items():
            posts[identity] = item
            validators.pop(identity, None)
        lost = keys.lost | changes.lost
        self._keep(name, Collection(posts, keys.strangers, lost, keys.lost_places, keys.missing), validators)
        return True

    def _asked(self, base: str, items: SpooledObjects[int], **query: str) -> Collection | None:
        """Return the collection with this query; ``None`` where a site, or a guard before it, cannot answer it.

        Whether it is the query or the site that fails, the full reading will tell. A site that asks for patience gets it.
        """
        try:
            return read_collection(self.api, base, items, **query)
        except SourceUnavailable as error:
            if error.retry_after is not None:
                raise
            return None

    def _unchanged(self, item: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, str]] | None:
        """Return the post and its validators as the earlier export holds them when its time of change is the listed one.

        WordPress sets ``modified_gmt`` whenever a post is saved. What changes a rendered post without saving it (a synced
        pattern, a plug-in, a theme) is not seen by it: hence the days after which a post is asked for again.
        """
        document = self.earlier.get(str(item["id"]))
        if document is None or not gmt_as_iso(item.get("modified_gmt")):
            return None
        known = document.validators
        if (known.get("site"), known.get("modified_gmt")) != (self.site, item["modified_gmt"]):
            return None
        try:
            if self.today - date.fromisoformat(known.get("read", "")) >= self.refetch:
                return None
            post: Mapping[str, Any] = json.loads(document.content)
        except (ValueError, RecursionError):
            return None
        return post, known

    def _keep(self, name: str, found: Collection, known: Mapping[int, Mapping[str, str]]) -> None:
        """File what came; ``known`` are the validators of posts that were not asked for again."""
        objects, unfetched = self.result.objects, self.result.unfetched
        for place, item in found.strangers.items():
            objects.add(item, f"type/{name}#{place}")
        for identity, item in found.items.items():
            objects.add(item, f"type/{name}#{identity}")
            if gmt_as_iso(item.get("modified_gmt")):
                read = {"site": self.site, "modified_gmt": item["modified_gmt"], "read": self.today.isoformat()}
                self.result.validators[str(identity)] = known.get(identity, read)
        reason = "the site fails to give this post, alone and in a page"
        unfetched += [Unfetched(str(identity), reason) for identity in sorted(found.lost)]
        unfetched += [Unfetched(f"type/{name}@{place}", reason) for place in sorted(found.lost_places)]
        if found.missing is not None:
            unfetched.append(Unfetched(f"type/{name}", found.missing))

    def read_terms(self, taxonomy: str) -> None:
        """Read the terms of a taxonomy; a site that does not publish them loses section names, no document."""
        try:
            found = read_collection(self.api, REST_BASES[taxonomy])
        except (Gone, CollectionRefused):
            return
        objects, unfetched = self.result.objects, self.result.unfetched
        for place, item in found.strangers.items():
            objects.add(item, f"taxonomy/{REST_BASES[taxonomy]}#{place}")
        for identity, item in found.items.items():
            objects.add(item, f"taxonomy/{REST_BASES[taxonomy]}#{identity}")
        reason = "the site fails to give this term, alone and in a page"
        unfetched += [Unfetched(f"taxonomy/{taxonomy}@{place}", reason) for place in sorted(found.lost_places)]
        for identity in sorted(found.lost):
            unfetched.append(Unfetched(f"taxonomy/{taxonomy}#{identity}", reason))
            known = self.earlier.get(term_key(taxonomy, identity))
            if known is not None:  # the name it had: its posts stay where they are
                objects.add(json.loads(known.content), known.key)


def _just_before(moments: Iterable[str | None]) -> str | None:
    """Return the second before the earliest of ``moments`` (ISO 8601 UTC): the site gives what changed *after* it.

    ``None`` when one of them is not known.
    """
    known = list(moments)
    if not known or None in known:
        return None
    first = min(moment for moment in known if moment is not None)
    return (datetime.fromisoformat(first.removesuffix("Z")) - timedelta(seconds=1)).isoformat() + "Z"
