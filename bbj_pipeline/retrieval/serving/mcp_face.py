"""The MCP server: two tools over the same ``Service`` as REST, by standard input and output or by Streamable HTTP.

Written on the SDK's low-level server, so that the tools' schemas are those of ``asked`` and nothing is printed or logged by a
framework in between.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import TypeAdapter, ValidationError

from bbj_pipeline import __version__
from bbj_pipeline.errors import PipelineError
from bbj_pipeline.retrieval.serving.asgi import notes
from bbj_pipeline.retrieval.serving.asked import Opening, Question
from bbj_pipeline.retrieval.serving.metrics import Metrics
from bbj_pipeline.retrieval.serving.service import Service
from bbj_pipeline.retrieval.serving.text import answer_text, chunk_text
from bbj_pipeline.retrieval.serving.told import Answer, ChunkDetail

__all__ = ["create_mcp_server", "serve_stdio"]

INSTRUCTIONS = """\
BBj is a business BASIC with four generations of user interface, and the same task is solved differently in each:
'character' (terminals, PRINT @(x,y)), 'vpro5' (Visual PRO/5, PRINT (sysgui)'WINDOW'(...)), 'bbj-gui' (BBjAPI, BBjSysGui,
addWindow), 'dwc' (BBj in the browser, formerly BUI). 'all' marks what every generation shares.
Find out which generation the developer works in (from his code, or by asking) and pass it on; passages of other generations
come below and say what they are. Search in plain words or by identifier, open a hit with read_bbj_chunk when it is cut off or
refers to what stands around it, search again in other words when the answer is thin. Cite the source of what you use, and say
so when the documentation has no answer."""

_SEARCH = """\
Search the BBj documentation (manuals, articles, API reference, courses, sample programs) for the passages that best answer a
developer's question. Understands questions and exact identifiers. Returns passages with title, generation, source URL and
chunk id, best first. Give 'generation' when it is known."""

_READ = """\
Open one passage found by search_bbj_knowledge by its chunk id, with the passages before and after it in the same document and
where it comes from. Use it when a hit is cut off, is an example without its explanation, or refers to what stands around it."""


_TOOLS = (
    Tool(
        name="search_bbj_knowledge",
        title="Search BBj knowledge",
        description=_SEARCH,
        input_schema=Question.model_json_schema(),
        output_schema=Answer.model_json_schema(),
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    ),
    Tool(
        name="read_bbj_chunk",
        title="Open a BBj passage",
        description=_READ,
        input_schema=Opening.model_json_schema(),
        output_schema=ChunkDetail.model_json_schema(),
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    ),
)
_CHUNKS = TypeAdapter(ChunkDetail)


Ready = Callable[[], Awaitable[Service]]
"""Gives the service, after it has started; raises why it could not."""


def create_mcp_server(ready: Ready, *, metrics: Metrics | None = None, log_queries: bool = False) -> Server[Any]:
    """Return the server of the two tools; ``ready`` is asked at each call, so the service may start after the protocol does."""

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list(_TOOLS))

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        about = notes(context.request.scope) if context.request is not None else {}
        about["tool"] = params.name[:100]
        arguments = params.arguments or {}
        try:
            if params.name == "search_bbj_knowledge":
                question = Question.model_validate(_unquoted(arguments))
                about |= _question_notes(question, log_queries=log_queries)
                return await _search(await ready(), question, metrics, about)
            if params.name == "read_bbj_chunk":
                return await _read(await ready(), Opening.model_validate(_unquoted(arguments)))
        except ValidationError as error:
            return _failure(f"the arguments are not understood: {_mistakes(error)}")
        except PipelineError as error:
            return _failure(str(error))
        raise MCPError(code=INVALID_PARAMS, message=f"unknown tool: {params.name[:100]}")

    schemas = {tool.name: tool.input_schema for tool in _TOOLS}
    return Server(
        "bbj-knowledge",
        title="BBj knowledge",
        version=__version__,
        instructions=INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(service: Service, *, log_queries: bool = False) -> None:
    """Speak MCP over standard input and output until the input ends.

    The client is answered at once, while the model loads in a thread; a question waits for it as long as it takes. Whatever is
    printed meanwhile goes to standard error.
    """
    loaded = anyio.Event()
    failure: PipelineError | None = None

    async def load() -> None:
        nonlocal failure
        try:
            await anyio.to_thread.run_sync(service.warm)
        except PipelineError as error:
            failure = error
        loaded.set()

    async def ready() -> Service:
        await loaded.wait()
        if failure is not None:
            raise failure
        return service

    server = create_mcp_server(ready, log_queries=log_queries)
    async with stdio_server() as (reader, writer), anyio.create_task_group() as group:
        group.start_soon(load)
        await server.run(reader, writer, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _search(service: Service, question: Question, metrics: Metrics | None, about: dict[str, Any]) -> CallToolResult:
    answer = await service.search(question)
    about["hits"] = len(answer["hits"])
    about["reranked"] = answer["reranked"]
    if metrics is not None:
        metrics.searched("mcp", answer)
    return CallToolResult(content=[TextContent(text=answer_text(answer))], structured_content=answer)


async def _read(service: Service, opening: Opening) -> CallToolResult:
    chunk = await service.chunk(opening.chunk_id, neighbours=opening.neighbours)
    structured = _CHUNKS.dump_python(_CHUNKS.validate_python(chunk), mode="json")
    return CallToolResult(content=[TextContent(text=chunk_text(chunk))], structured_content=structured)


def _question_notes(question: Question, *, log_queries: bool) -> dict[str, Any]:
    text = {"query": question.query} if log_queries else {}
    return {"generation": question.generation, **text}


def _unquoted(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with lists taken out of strings: some clients send ``"[\\"pdf\\"]"`` where a list is meant."""
    return {name: _list_in(value) for name, value in arguments.items()}


def _list_in(value: Any) -> Any:
    if not (isinstance(value, str) and value.startswith("[") and value.endswith("]")):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list) and all(isinstance(item, str) for item in parsed) else value


def _mistakes(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])[:1000]


def _failure(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text.encode(errors="replace").decode())], is_error=True)
