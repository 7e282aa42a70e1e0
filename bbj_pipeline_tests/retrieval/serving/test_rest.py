"""REST over the real command, database and model: answers, problems, hostile input, and no growth."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from bbj_pipeline.settings import SAMPLES_DIR, Settings
from bbj_pipeline.storage.database import Database
from bbj_pipeline_tests.retrieval.serving.servers import Process, call

PROBLEM = "application/problem+json"
MCP_ACCEPT = "application/json, text/event-stream"


def _demo(kind: str) -> dict[str, str]:
    lines = (SAMPLES_DIR / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    judged = next(item for item in map(json.loads, lines) if item["id"] == f"demo-{kind}")
    return {"query": judged["query"], "generation": judged["generation"], "key": judged["relevant"][0]["key"]}


@pytest.mark.parametrize("kind", ["mdx", "javadoc", "flare"])
def test_a_judged_question_is_answered_first_by_its_document(served: Process, kind: str) -> None:
    """The samples' judged questions find their document; the command runs without Dagster and Great Expectations."""
    judged = _demo(kind)
    answer = call(served.url, query=judged["query"], generation=judged["generation"]).json()
    assert answer["hits"][0]["kind"] == kind
    assert answer["hits"][0]["key"] == judged["key"]


def test_a_hit_opens_with_origin_and_neighbours(served: Process) -> None:
    """A chunk tells the hash of its raw file as anyone can compute it, and what stands around it in order."""
    hit = call(served.url, query="BBjSysGui addWindow", kinds=["javadoc"], limit=1).json()["hits"][0]
    chunk = httpx.get(f"{served.url}/chunks/{hit['id']}", params={"neighbours": 2}).json()
    assert chunk["content"] == hit["content"]
    raw = SAMPLES_DIR / "javadoc" / chunk["provenance"]["raw_key"].partition("#")[0]
    assert raw.exists() or re.fullmatch(r"[0-9a-f]{64}", chunk["provenance"]["raw_sha256"])
    places = [near["ordinal"] for near in chunk["neighbours"]]
    expected = [chunk["ordinal"] + step for step in (-2, -1, 1, 2) if chunk["ordinal"] + step >= 0]
    assert places == [place for place in expected if place in places]
    assert places
    assert chunk["ordinal"] not in places


def test_filters_and_explanations(served: Process) -> None:
    """Kinds filter, limit bounds, strict admits the generation and universal chunks, explain shows the stages."""
    answer = call(served.url, query="window", kinds=["flare"], limit=3, generation="dwc", strict=True, explain=True).json()
    assert 0 < len(answer["hits"]) <= 3
    assert {hit["kind"] for hit in answer["hits"]} == {"flare"}
    assert all({"dwc", "all"} & set(hit["generations"]) for hit in answer["hits"])
    assert "milliseconds" in answer["explain"]


def test_stats_and_health(served: Process, sample_settings: Settings) -> None:
    """Counts are those of the table; health tells live and ready apart."""
    stats = httpx.get(f"{served.url}/stats").json()
    with Database(sample_settings.database_url) as database, database.connection() as connection:  # type: ignore[arg-type]
        rows = dict(connection.execute("select source, count(*) from doc_chunks group by source").fetchall())
    assert {name: found["chunks"] for name, found in stats["instances"].items()} == rows
    assert stats["chunks"] == sum(rows.values())
    health = httpx.get(f"{served.url}/health")
    assert health.status_code == 200
    assert health.json()["live"]["ok"] is True
    assert {name: part["ok"] for name, part in health.json()["ready"].items() if name != "ok"} == dict.fromkeys(
        ("database", "schema", "space", "model", "reranker"), True
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": "a\0b"}, "NUL"),
        ({"query": " \n "}, "is empty"),
        ({"query": "w" * 4001}, "4000"),
        ({"query": "w", "generation": "web"}, "'dwc'"),
        ({"query": "w", "kinds": ["nosuch"]}, "unknown source kind"),
        ({"query": "w", "limit": 101}, "100"),
        ({"query": "w", "limit": "5"}, "integer"),
        ({"query": "w", "strict": True}, "names no generation"),
        ({"query": "w", "nosuch": 1}, "Extra inputs"),
        ({}, "required"),
    ],
)
def test_a_wrong_request_is_a_problem_that_says_what(served: Process, body: dict[str, object], said: str) -> None:
    """422 as RFC 9457 with the field, what is wrong with it and the remedy."""
    answer = call(served.url, **body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == PROBLEM
    assert said in answer.json()["detail"]
    assert answer.json()["remedy"]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b'{"query": "\\ud800"}', 422),
        (b'{"query": "\xff\xfe"}', 400),
        (b"[", 422),
        (b'{"query": "w", "limit": 1e999}', 422),
        (b'{"query": "w", "limit": ' + b"9" * 5000 + b"}", 400),
        (b"[" * 60_000, 400),
        (b'{"query": "' + b"w" * 1_000_000 + b'"}', 413),
        (b"", 422),
    ],
)
def test_bytes_that_are_no_request_are_refused(served: Process, raw: bytes, status: int) -> None:
    """Broken JSON, broken UTF-8, lone surrogates, numbers and nesting without end, a megabyte: a clear 4xx, no traceback."""
    answer = httpx.post(f"{served.url}/search", content=raw, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert "Traceback" not in answer.text
    assert httpx.get(f"{served.url}/health/live").is_success


@pytest.mark.parametrize(
    "query",
    [
        "'; drop table chunks_1; --", "a & b | !c <-> (d", "\\'", "%s %(x)s {y}", "🪟🪟", "((((", "א ב", "a:*", "x" * 4000,
        "'" * 4000, "$1", "\x1b[31m", "<script>alert(1)</script>", "\ufeff\u202e window",
    ],
)  # fmt: skip
def test_hostile_questions_are_only_text(served: Process, query: str) -> None:
    """SQL, text search operators, escapes and emoji are answered like any question."""
    answer = call(served.url, query=query)
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["hits"]) == 5


def test_unknown_paths_methods_and_chunks_are_problems(served: Process) -> None:
    """404 and 405 carry a remedy; 405 names the methods that are allowed; a path is not an id."""
    assert httpx.get(f"{served.url}/nosuch").status_code == 404
    refused = httpx.delete(f"{served.url}/search")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    unknown = httpx.get(f"{served.url}/chunks/{'0' * 32}")
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, PROBLEM)
    assert unknown.json()["remedy"]
    assert httpx.get(f"{served.url}/chunks/..%2F..%2Fetc%2Fpasswd").status_code in (404, 422)


def test_other_host_names_and_origins_are_refused(served: Process) -> None:
    """A page whose name was rebound to this machine, or of another origin, gets nothing; health checks always do."""
    assert httpx.get(f"{served.url}/stats", headers={"Host": "evil.example"}).status_code == 421
    assert httpx.get(f"{served.url}/stats", headers={"Origin": "https://evil.example"}).status_code == 403
    assert httpx.get(f"{served.url}/health/live", headers={"Host": "10.1.2.3:8080"}).status_code == 200
    assert "access-control-allow-origin" not in httpx.get(f"{served.url}/stats").headers


def test_a_log_line_a_request_without_the_question(served: Process) -> None:
    """Every line of the log is JSON; a search's line has status, time and hits, and not a word of the question."""
    call(served.url, query="xylophone quetzal", generation="vpro5")
    written = served.log.read_text(encoding="utf-8")
    assert "quetzal" not in written
    lines = [json.loads(line) for line in written.splitlines() if not line.startswith("REST: ")]
    searches = [line for line in lines if line.get("path") == "/search" and line.get("generation") == "vpro5"]
    assert searches[-1]["status"] == 200
    assert searches[-1]["hits"] == 5
    assert searches[-1]["milliseconds"] > 0


def test_metrics_count_by_route(served: Process) -> None:
    """Searches and requests are counted; unknown paths and ids share a series."""
    call(served.url, query="window", generation="dwc")
    httpx.get(f"{served.url}/chunks/{'1' * 32}")
    httpx.get(f"{served.url}/wp-login.php")
    text = httpx.get(f"{served.url}/metrics").text
    assert re.search(r'bbj_searches_total\{face="rest",found="yes",generation="dwc"\} [1-9]', text)
    assert re.search(r'bbj_requests_total\{method="POST",route="/search",status="200"\} [1-9]', text)
    assert 'route="/chunks/{chunk_id}",status="404"' in text
    assert "wp-login" not in text
    assert "process_resident_memory_bytes" in text


def test_many_searches_later_nothing_has_grown(served: Process, sample_settings: Settings) -> None:
    """After 120 further searches by 16 clients at once, by REST and MCP, some of whom hang up, the others were answered, and
    memory and connections are as before."""
    process = psutil.Process(served.popen.pid)

    def search(number: int) -> int:
        question = {"query": f"window {number} event", "limit": 1 + number % 20}
        if number % 20 == 0:
            try:
                return httpx.post(f"{served.url}/search", json=question, timeout=0.01).status_code
            except httpx.TimeoutException:
                return 200
        if number % 3 == 0:
            params = {"name": "search_bbj_knowledge", "arguments": question}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            answer = httpx.post(f"{served.url}/mcp", json=message, headers={"accept": MCP_ACCEPT}, timeout=60)
            return 500 if answer.json()["result"].get("isError") else answer.status_code
        return call(served.url, **question).status_code

    with ThreadPoolExecutor(16) as clients:
        list(clients.map(search, range(40)))
        before, files = process.memory_info().rss, process.num_fds()
        assert set(clients.map(search, range(40, 160))) == {200}
    assert process.memory_info().rss < before + 40_000_000
    assert process.num_fds() < files + 30
    with Database(sample_settings.database_url) as database, database.direct_connection() as connection:  # type: ignore[arg-type]
        row = connection.execute("select count(*) from pg_stat_activity where datname = current_database()").fetchone()
    assert row is not None
    assert row[0] <= 10


def test_the_documentation_is_complete(served: Process) -> None:
    """Every operation of the OpenAPI document has a summary or description, its problems, and a body with an example."""
    document = httpx.get(f"{served.url}/openapi.json").json()
    assert set(document["paths"]) == {
        "/search", "/chunks/{chunk_id}", "/feedback", "/stats", "/health", "/health/live", "/health/ready", "/metrics",
    }  # fmt: skip
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["description"]
            if not path.startswith("/health"):
                assert {"401", "422", "429", "503"} <= set(operation["responses"])
    for name in ("SearchBody", "FeedbackBody", "Answer"):
        assert document["components"]["schemas"][name]["examples"]
