"""Keys, limits, overload and disconnecting clients, on a small corpus with an embedder that waits when it is told to."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from pydantic import SecretStr

from bbj_pipeline.retrieval.serving.access import KeyRing, TokenBuckets
from bbj_pipeline.settings import Settings
from bbj_pipeline.stages.contract import Vector
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.cli.test_cli import call as command
from bbj_pipeline_tests.fakes import CountingEmbedder
from bbj_pipeline_tests.paths import ROOT
from bbj_pipeline_tests.retrieval.serving.conftest import EMBEDDER
from bbj_pipeline_tests.retrieval.serving.servers import call, running
from bbj_pipeline_tests.storage.chunk_factory import DIMENSION


class GatedEmbedder(CountingEmbedder):
    """Lets a question through when the gate is open; ``asked`` are the questions that reached it."""

    def __init__(self) -> None:
        super().__init__(DIMENSION, "test:8")
        self.gate = threading.Event()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        assert self.gate.wait(30)
        return super().embed_query(text)


class BrokenEmbedder(CountingEmbedder):
    """Has a bug."""

    def embed_query(self, text: str) -> Vector:
        raise ZeroDivisionError(f"secret detail of {text}")


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_key_is_asked_for(small: Database, settings: Settings) -> None:
    """With keys every path but health needs one, by either header; a wrong one is 401 and tells how to send it."""
    keyed = settings.model_copy(update={"api_keys": SecretStr("first-key, second-key")})
    with running(small, EMBEDDER, keyed) as url:
        for path in ("/stats", "/metrics", "/openapi.json", "/docs", "/mcp", "/nosuch"):
            refused = httpx.get(url + path)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "X-API-Key" in refused.json()["remedy"]
        assert httpx.get(f"{url}/health").status_code == 200
        for headers in (
            {"Authorization": "Bearer first-key"},
            {"authorization": "bearer second-key"},
            {"X-API-Key": "second-key"},
        ):
            assert httpx.get(f"{url}/stats", headers=headers).status_code == 200
        for wrong in ("first-ke", "first-key, second-key", "", "\xff"):
            assert httpx.get(f"{url}/stats", headers={"X-API-Key": wrong.encode("latin-1")}).status_code == 401
        document = httpx.get(f"{url}/openapi.json", headers={"X-API-Key": "first-key"}).json()
        assert document["paths"]["/search"]["post"]["security"]


def test_keys_are_named_by_digest() -> None:
    """The name for the log is not the key; no key at all is an empty ring."""
    ring = KeyRing(SecretStr("first-key"))
    name = ring.name_of("first-key")
    assert name is not None
    assert "first" not in name
    assert KeyRing(None).is_empty
    assert KeyRing(SecretStr(" , ")).is_empty


def test_other_machines_need_a_key(settings: Settings) -> None:
    """Listening on all addresses without keys is refused at start-up with the remedy, before anything is loaded."""
    done = command("serve", "--host", "0.0.0.0", "--port", "0", settings=settings, PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "set BBJ_API_KEYS" in done.stderr
    assert "--insecure" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_taken_port_is_said_in_one_line(settings: Settings) -> None:
    """The address, the reason, the remedy; no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = command("serve", "--port", str(taken.getsockname()[1]), settings=settings, PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bucket_refills() -> None:
    """Sixty a minute with a burst of two: two at once, the third a second later; another caller has his own."""
    now = [0.0]
    buckets = TokenBuckets(per_minute=60, burst=2, clock=lambda: now[0])
    assert [buckets.take("a"), buckets.take("a")] == [0, 0]
    assert buckets.take("a") == pytest.approx(1)
    assert buckets.take("b") == 0
    now[0] = 1.0
    assert buckets.take("a") == 0
    assert buckets.take("a") == pytest.approx(1)


def test_callers_are_forgotten_before_they_fill_memory() -> None:
    """A hundred thousand addresses leave ten thousand buckets."""
    buckets = TokenBuckets(per_minute=60, burst=2)
    for number in range(100_000):
        buckets.take(str(number))
    assert len(buckets) == 10_000


def test_a_rate_limit_answers_429(small: Database, settings: Settings) -> None:
    """Beyond the burst a caller is told when to come again; health is not counted."""
    limited = settings.model_copy(update={"rate_limit": 1, "rate_burst": 3})
    with running(small, EMBEDDER, limited) as url:
        assert [httpx.get(f"{url}/stats").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        refused = httpx.get(f"{url}/stats")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json()["remedy"].startswith("wait ")
        assert httpx.get(f"{url}/health/live").status_code == 200


def _from(url: str, *forwarded: str) -> int:
    """Ask as a proxy on this machine does; each of ``forwarded`` is one X-Forwarded-For line."""
    return httpx.get(f"{url}/stats", headers=[("X-Forwarded-For", line) for line in forwarded]).status_code


@pytest.mark.parametrize("proxies", ["127.0.0.1", "10.9.9.9, 127.0.0.0/8"])
def test_behind_a_trusted_proxy_each_client_has_his_own_limit(small: Database, settings: Settings, proxies: str) -> None:
    """The address counts that the proxy added, wherever a client's own claims stand: in the same line or in one of his."""
    limited = settings.model_copy(update={"rate_limit": 1, "rate_burst": 1, "trusted_proxies": proxies})
    with running(small, EMBEDDER, limited) as url:
        assert [_from(url, "203.0.113.1"), _from(url, "203.0.113.1"), _from(url, "203.0.113.2")] == [200, 429, 200]
        assert [_from(url, f"198.51.100.{n}, 203.0.113.1") for n in range(3)] == [429] * 3
        assert [_from(url, f"198.51.100.{n}", "203.0.113.2") for n in range(3)] == [429] * 3
        assert [_from(url, "203.0.113.3, 127.0.0.1"), _from(url, "203.0.113.3")] == [200, 429]
        assert [_from(url, "[2001:db8::1]:4711"), _from(url, "2001:db8::1")] == [200, 429]


@pytest.mark.parametrize("proxies", ["", "10.9.9.9"])
def test_an_untrusted_peer_cannot_choose_his_address(small: Database, settings: Settings, proxies: str) -> None:
    """With no proxy configured, or another, X-Forwarded-For is ignored: one address, one limit; the log has the peer's own."""
    limited = settings.model_copy(update={"rate_limit": 1, "rate_burst": 1, "trusted_proxies": proxies})
    with running(small, EMBEDDER, limited) as url:
        assert [_from(url, f"203.0.113.{n}") for n in range(4)] == [200, 429, 429, 429]


@pytest.mark.parametrize("proxies", ["*", "proxy.example", "10.0.0.1/8", "10.0.0.0/8, nosuch"])
def test_trusted_proxies_are_addresses_or_networks(settings: Settings, proxies: str) -> None:
    """A star, a name, a network with host bits: refused at start-up in a line that names the variable."""
    done = command("serve", "--port", "0", settings=settings, PYTHONPATH=str(ROOT), BBJ_TRUSTED_PROXIES=proxies)
    assert done.returncode == 1
    assert done.stderr.startswith("error: BBJ_TRUSTED_PROXIES: ")
    assert done.stderr.count("\n") == 1


def test_overload_is_said_and_passes(small: Database, settings: Settings) -> None:
    """One at work and one waiting: the third gets 503 with Retry-After at once; later all are served again."""
    embedder = GatedEmbedder()
    tight = settings.model_copy(update={"serve_threads": 1, "serve_queue": 1})
    with running(small, embedder, tight) as url, ThreadPoolExecutor(2) as clients:
        held = [clients.submit(call, url, query=f"window {n}") for n in range(2)]
        _until(lambda: "bbj_work_pending 2.0" in httpx.get(f"{url}/metrics").text)
        refused = call(url, query="one too many")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["remedy"]
        assert httpx.get(f"{url}/health").status_code == 200
        embedder.gate.set()
        assert [answer.result().status_code for answer in held] == [200, 200]
        assert call(url, query="window").status_code == 200


def test_a_slow_answer_is_given_up(small: Database, settings: Settings) -> None:
    """After the configured seconds the client hears 503 instead of waiting for ever."""
    embedder = GatedEmbedder()
    with running(small, embedder, settings.model_copy(update={"request_seconds": 0.2})) as url:
        answer = call(url, query="window")
        assert answer.status_code == 503
        assert "0.2 s" in answer.json()["detail"]
        embedder.gate.set()


@pytest.mark.parametrize("path", ["/search", "/mcp"])
def test_a_client_that_leaves_frees_its_place(small: Database, settings: Settings, path: str) -> None:
    """A waiting request whose client disconnects leaves the queue at once and is never worked on."""
    embedder = GatedEmbedder()
    tight = settings.model_copy(update={"serve_threads": 1, "serve_queue": 1})
    with running(small, embedder, tight) as url, ThreadPoolExecutor(1) as clients:
        working = clients.submit(call, url, query="first")
        _until(lambda: embedder.asked == ["first"])
        _leave(url, path, when=lambda: "bbj_work_pending 2.0" in httpx.get(f"{url}/metrics").text)
        _until(lambda: "bbj_work_pending 1.0" in httpx.get(f"{url}/metrics").text)
        embedder.gate.set()
        assert working.result().status_code == 200
        assert call(url, query="third").status_code == 200
        assert embedder.asked == ["first", "third"]
        assert f'method="POST",route="{path}",status="499"' in httpx.get(f"{url}/metrics").text


def test_a_flood_is_answered_or_refused(small: Database, settings: Settings) -> None:
    """Of 120 questions at the same moment, by REST and MCP, none is lost: 200, or 503 with Retry-After where there is no place;
    database connections stay within the pool, and the next question is served."""
    tight = settings.model_copy(update={"serve_threads": 2, "serve_queue": 8})
    tool = {"name": "search_bbj_knowledge", "arguments": {"query": "window"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    accepted = {"accept": "application/json, text/event-stream"}

    async def flood(url: str) -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=url, timeout=60, limits=httpx.Limits(max_connections=120)) as client:
            asked = [client.post("/search", json={"query": "window"}) for _ in range(80)]
            asked += [client.post("/mcp", json=message, headers=accepted) for _ in range(40)]
            return await asyncio.gather(*asked)

    with Database(small.url, pool_size=2) as pool, running(pool, EMBEDDER, tight) as url:
        answers = asyncio.run(flood(url))
        rest, mcp = answers[:80], answers[80:]
        assert {answer.status_code for answer in rest} <= {200, 503}
        assert all(answer.headers["retry-after"] for answer in rest if answer.status_code == 503)
        assert {answer.status_code for answer in mcp} == {200}
        refused = [answer.json()["result"] for answer in mcp if answer.json()["result"].get("isError")]
        assert all("try again in a second" in result["content"][0]["text"] for result in refused)
        assert any(answer.status_code == 200 for answer in rest)
        assert refused or any(answer.status_code == 503 for answer in rest)
        with small.direct_connection() as connection:
            row = connection.execute("select count(*) from pg_stat_activity where datname = current_database()").fetchone()
        assert row is not None
        assert row[0] <= 2 + 2  # the pool, this test's connection and its fixture's
        assert call(url, query="window").status_code == 200


@pytest.mark.parametrize("path", ["/search", "/mcp"])
def test_a_client_that_leaves_stops_its_statement(small: Database, settings: Settings, path: str) -> None:
    """A statement that could last for minutes (here it waits for a lock) ends on the server when its client hangs up; the
    connection serves the next question."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    one = Database(small.url, pool_size=2)
    server = running(one, EMBEDDER, settings, timeout=600)
    with one, small.connection() as other, small.connection() as watcher, server as url:

        def locked() -> int:
            row = watcher.execute(waiting).fetchone()
            assert row is not None
            return int(row[0])

        with other.transaction():
            other.execute("lock table chunks_1 in access exclusive mode")
            _leave(url, path, when=lambda: locked() == 1)
            _until(lambda: locked() == 0)
            _until(lambda: "bbj_work_pending 0.0" in httpx.get(f"{url}/metrics").text)
        assert call(url, query="window").status_code == 200
        row = watcher.execute("select count(*) from pg_stat_activity where datname = current_database()").fetchone()
        assert row is not None
        assert row[0] <= 2 + 2


def _leave(url: str, path: str, when: Callable[[], bool]) -> None:
    """Send a whole request, wait until ``when`` is true, and hang up."""
    arguments = '{"query": "second"}'
    tool = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_bbj_knowledge","arguments":' + arguments + "}}"
    )
    body = arguments if path == "/search" else tool
    host = url.removeprefix("http://")
    with socket.create_connection((host.split(":")[0], int(host.split(":")[1]))) as client:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall((head + body).encode())
        _until(when)


def test_a_bug_is_a_500_without_its_cause(small: Database, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """The client gets a problem without a word of the exception; the log has it in one record; the next request is served."""
    with running(small, BrokenEmbedder(DIMENSION, "test:8"), settings) as url:
        answer = call(url, query="w")
        assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
        assert "secret" not in answer.text
        assert httpx.get(f"{url}/stats").status_code == 200
    assert any("ZeroDivisionError" in getattr(record, "fields", {}).get("error", "") for record in caplog.records)


def test_cors_is_off_and_can_be_allowed(small: Database, settings: Settings) -> None:
    """An allowed origin's preflight and requests pass, another's do not."""
    allowed = settings.model_copy(update={"cors_origins": "https://ide.example"})
    asking = {"Origin": "https://ide.example", "Access-Control-Request-Method": "POST"}
    with running(small, EMBEDDER, allowed) as url:
        preflight = httpx.options(f"{url}/search", headers=asking)
        assert preflight.headers["access-control-allow-origin"] == "https://ide.example"
        answer = httpx.post(f"{url}/search", json={"query": "w"}, headers={"Origin": "https://ide.example"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://ide.example")
        other = httpx.post(f"{url}/search", json={"query": "w"}, headers={"Origin": "https://evil.example"})
        assert (other.status_code, other.headers.get("access-control-allow-origin")) == (403, None)


def test_nothing_published_is_not_ready(database: Database, settings: Settings) -> None:
    """The process is live; readiness and a search say what to run."""
    with running(database, EMBEDDER, settings) as url:
        health = httpx.get(f"{url}/health")
        assert health.status_code == 503
        assert health.json()["live"]["ok"] is True
        parts = health.json()["ready"]
        assert [name for name in ("database", "schema", "space", "model") if not parts[name]["ok"]] == ["space"]
        assert "bbj-pipeline run" in parts["space"]["remedy"]
        answer = call(url, query="w")
        assert answer.status_code == 503
        assert "bbj-pipeline run" in answer.json()["remedy"]


def test_a_database_without_the_schema_names_the_command(empty_database: Database, settings: Settings) -> None:
    """Schema and space are apart from the database, which answers."""
    with running(empty_database, EMBEDDER, settings) as url:
        parts = httpx.get(f"{url}/health/ready").json()
        assert parts["database"]["ok"] is True
        assert parts["schema"]["ok"] is False
        assert "bbj-pipeline migrate" in parts["schema"]["remedy"]
