"""A signed request becomes one run: the webhook over HTTP, the queue in PostgreSQL, the sensor over ticks."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator

import dagster as dg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bbj_pipeline.orchestration.build import build_definitions
from bbj_pipeline.orchestration.platform import Platform
from bbj_pipeline.records import InstanceRef
from bbj_pipeline.retrieval.serving.webhook import MAX_AGE, MAX_BODY_BYTES, refresh_router, sign, verify_signature
from bbj_pipeline.settings import Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline.storage.refresh_requests import claim, enqueue, finish

SECRET = "a-secret-of-the-hook"
REF = InstanceRef("mdx", "dwc-guide")
PATH = "/hooks/refresh/mdx/dwc-guide"


@pytest.fixture
def hook(settings: Settings, database: Database) -> Iterator[TestClient]:
    app = FastAPI()
    app.include_router(refresh_router(settings.model_copy(update={"webhook_secret": SecretStr(SECRET)}), database))
    with TestClient(app) as client:
        yield client


def signed(body: bytes, timestamp: float | None = None) -> dict[str, str]:
    stamp = str(int(time.time() if timestamp is None else timestamp))
    return {"X-BBJ-Timestamp": stamp, "X-BBJ-Signature-256": sign(SECRET, body, stamp)}


def github(body: bytes, event: str = "push") -> dict[str, str]:
    """Headers as GitHub documents them: HMAC-SHA-256 of the body in hexadecimal, after ``sha256=``."""
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}", "X-GitHub-Event": event}


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_signature_is_of_one_body_one_time_and_one_secret(body: bytes, other: bytes) -> None:
    """The right signature is accepted within the time window; of another body, time or secret it is not."""
    signature = sign(SECRET, body, "1000000")

    def accepts(body: bytes, timestamp: str | None, signature: str, now: float = 1_000_000.0, secret: str = SECRET) -> bool:
        return verify_signature(secret, body, timestamp, signature, now=lambda: now)

    assert accepts(body, "1000000", signature)
    assert accepts(body, "1000000", signature, now=1_000_000 + MAX_AGE)
    assert not accepts(body, "1000000", signature, now=1_000_000 + MAX_AGE + 1)
    assert not accepts(body, "1000000", signature, now=1_000_000 - MAX_AGE - 1)
    assert not accepts(body, "1000001", signature)
    assert not accepts(body, None, signature)
    assert not accepts(body, "1000000", signature, secret="another secret of a hook")
    assert accepts(other, "1000000", signature) == (other == body)


@pytest.mark.parametrize("timestamp", ["", "now", "-1", "1e6", "١٢٣", "9" * 400])
def test_a_timestamp_is_a_number(timestamp: str) -> None:
    """Whatever stands for the time is refused when it is none, and raises nothing."""
    assert not verify_signature(SECRET, b"x", timestamp, sign(SECRET, b"x", timestamp))
    assert not verify_signature(SECRET, b"x", "1", "sha256=é")


def test_the_example_that_github_documents() -> None:
    """GitHub's own example of secret, payload and signature is accepted."""
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert verify_signature("It's a Secret to Everybody", b"Hello, World!", None, signature)


def test_a_request_is_queued_once(hook: TestClient, database: Database) -> None:
    """A signed request is queued; sent again, and replayed to another instance, it is recognised."""
    body = b'{"ref": "refs/heads/main"}'
    headers = signed(body)
    assert hook.post(PATH, content=body, headers=headers).status_code == 202
    assert hook.post(PATH, content=body, headers=headers).status_code == 200
    assert hook.post("/hooks/refresh/flare/bbj-docs", content=body, headers=headers).json() == {"status": "already queued"}
    assert [(item.ref, len(item.reasons)) for item in claim(database)] == [(REF, 1)]


def test_github_is_understood(hook: TestClient, database: Database) -> None:
    """A push queues a refresh, however often GitHub delivers it and under whatever id; a ping queues nothing."""
    body = b'{"after": "abc"}'
    assert hook.post(PATH, content=b"{}", headers=github(b"{}", "ping")).json() == {"status": "pong"}
    for delivery in ("1", "2"):
        assert hook.post(PATH, content=body, headers={**github(body), "X-GitHub-Delivery": delivery}).is_success
    (claimed,) = claim(database)
    assert claimed.reasons == ("push",)


def test_what_is_not_signed_is_refused(hook: TestClient, database: Database) -> None:
    """No signature, a wrong, a mixed or an old one: 401 and nothing queued; names are not told to strangers."""
    body = b"x"
    old = signed(body, time.time() - MAX_AGE - 60)
    for headers in (
        {},
        old,
        {"X-BBJ-Signature-256": "sha256=00"},
        {"X-Hub-Signature-256": signed(body)["X-BBJ-Signature-256"]},
    ):
        assert hook.post(PATH, content=body, headers=headers).status_code == 401
    assert hook.post("/hooks/refresh/mdx/no-such", content=body).status_code == 401
    assert hook.post("/hooks/refresh/mdx/no-such", content=body, headers=signed(body)).status_code == 404
    assert hook.post(PATH, content=b"x" * (MAX_BODY_BYTES + 1)).status_code == 413
    assert claim(database) == []


def test_without_a_secret_the_hook_is_off(settings: Settings, database: Database) -> None:
    """No secret, no refresh: an empty one would be known to everybody."""
    app = FastAPI()
    app.include_router(refresh_router(settings, database))
    with TestClient(app) as client:
        assert client.post(PATH, content=b"", headers={"X-Hub-Signature-256": sign("", b"")}).status_code == 503


def test_requests_share_a_run_until_it_is_seen(database: Database) -> None:
    """Waiting requests of an instance have one key; one that comes while they wait has the next; done is done."""
    assert enqueue(database, REF, delivery_id="1", reason="push")
    assert enqueue(database, REF, delivery_id="2", reason="push")
    assert not enqueue(database, REF, delivery_id="2", reason="push")
    (first,) = claim(database)
    assert len(first.reasons) == 2
    assert enqueue(database, REF, delivery_id="3", reason="push")
    assert claim(database)[0] == first
    assert len({item.run_key for item in claim(database)}) == 2
    finish(database, first.run_key, run_id="r1")
    (second,) = claim(database)
    assert second.run_key != first.run_key


def test_the_sensor_asks_until_the_run_is_seen(settings: Settings, database: Database) -> None:
    """A request is asked for at each tick under one key, and is done once that run exists; an unknown instance is dropped."""
    enqueue(database, REF, delivery_id="1", reason="push")
    enqueue(database, InstanceRef("mdx", "removed"), delivery_id="2", reason="push")
    with Platform(settings) as platform, dg.DagsterInstance.ephemeral() as instance:
        repository = build_definitions(settings, platform=platform).get_repository_def()

        def tick() -> list[dg.RunRequest]:
            with dg.build_sensor_context(instance, repository_def=repository) as context:
                return list(repository.get_sensor_def("refresh_request_sensor").evaluate_tick(context).run_requests or [])

        (request,) = tick()
        assert (request.job_name, request.partition_key) == ("mdx_refresh", "dwc-guide")
        assert [again.run_key for again in tick()] == [request.run_key]
        job = repository.get_job("mdx_refresh")
        instance.create_run_for_job(job, tags={"dagster/run_key": request.run_key or ""})
        assert tick() == []
        assert claim(database) == []
