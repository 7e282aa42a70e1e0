"""MCP with the SDK's own client over both transports: search, open a chunk, narrow by generation, search again."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bbj_pipeline.settings import Settings
from bbj_pipeline_tests.retrieval.serving.servers import WITHOUT_ORCHESTRATION, Process, environment

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def _text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


async def _conversation(client: Client) -> None:
    """What an agent does, with what it may rely on."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"search_bbj_knowledge", "read_bbj_chunk"}
    properties = tools["search_bbj_knowledge"].input_schema["properties"]
    for label in ("character", "vpro5", "bbj-gui", "dwc"):
        assert label in properties["generation"]["description"]

    first = await client.call_tool("search_bbj_knowledge", {"query": "How do I create a window?", "limit": 4})
    assert not first.is_error
    hits = first.structured_content["hits"]
    assert len(hits) == 4
    for hit in hits:
        assert hit["content"] in _text(first)
        assert hit["id"] in _text(first)
        assert (hit["url"] or hit["key"]) in _text(first)

    opened = await client.call_tool("read_bbj_chunk", {"chunk_id": hits[0]["id"], "neighbours": 2})
    assert not opened.is_error
    assert opened.structured_content["content"] == hits[0]["content"]
    assert len(opened.structured_content["provenance"]["raw_sha256"]) == 64
    for near in opened.structured_content["neighbours"]:
        assert near["content"] in _text(opened)

    narrow = {"query": "create a window", "generation": "vpro5", "strict": True, "kinds": ["mdx", "flare"]}
    second = await client.call_tool("search_bbj_knowledge", narrow)
    assert second.structured_content["generation"] == "vpro5"
    assert all({"vpro5", "all"} & set(hit["generations"]) for hit in second.structured_content["hits"])
    third = await client.call_tool("search_bbj_knowledge", {"query": "addWindow", "kinds": '["javadoc"]', "limit": 1})
    assert third.structured_content["hits"][0]["kind"] == "javadoc"

    for arguments, said in (
        ({"query": "w", "generation": "web"}, "generation"),
        ({"query": ""}, "empty"),
        ({"query": "w", "strict": True}, "add one of: all, character"),
    ):
        refused = await client.call_tool("search_bbj_knowledge", arguments)
        assert refused.is_error
        assert said in _text(refused)
    missing = await client.call_tool("read_bbj_chunk", {"chunk_id": "0" * 32})
    assert missing.is_error
    assert "take the id from a fresh search" in _text(missing)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_over_http(served: Process, path: str, mode: str) -> None:
    """Both protocol generations of the client, with and without the slash."""

    async def talk() -> None:
        async with Client(f"{served.url}{path}", mode=mode) as client:
            await _conversation(client)

    anyio.run(talk)


def test_an_agent_over_stdio(sample_settings: Settings, tmp_path: Path) -> None:
    """The same over standard input and output, in a process that lacks Dagster; nothing but the protocol is on its output."""
    written, script = tmp_path / "stdout", tmp_path / "agent.py"
    script.write_text(WITHOUT_ORCHESTRATION, encoding="utf-8")
    line = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} mcp | tee {shlex.quote(str(written))}"
    parameters = StdioServerParameters(command="sh", args=["-c", line], env=environment(sample_settings))

    async def talk() -> None:
        async with Client(stdio_client(parameters)) as client:
            await _conversation(client)

    anyio.run(talk)
    messages = [json.loads(message) for message in written.read_text(encoding="utf-8").splitlines()]
    assert len(messages) > 8
    assert all(message["jsonrpc"] == "2.0" for message in messages)


def test_http_has_no_sessions_and_refuses_foreign_hosts(served: Process) -> None:
    """GET and DELETE are 405; no session id is given; another host name or origin is refused; a body is bounded."""
    for method in ("GET", "DELETE"):
        for path in ("/mcp", "/mcp/"):
            answer = httpx.request(
                method, f"{served.url}{path}", headers={"accept": "text/event-stream"}, follow_redirects=False
            )
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert httpx.post(f"{served.url}/mcp", json=ping, headers={**HEADERS, "Host": "evil.example"}).status_code == 421
    assert httpx.post(f"{served.url}/mcp", json=ping, headers={**HEADERS, "Origin": "http://evil.example"}).status_code == 403
    answer = httpx.post(f"{served.url}/mcp", json=ping, headers=HEADERS)
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers
    assert httpx.post(f"{served.url}/mcp", content=b"x" * 1_000_000, headers=HEADERS).status_code == 413
