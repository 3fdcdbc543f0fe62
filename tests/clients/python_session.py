"""The Python SDK's ClientSession, versions 1 and 2: legacy era over stdio and HTTP.

usage: python python_session.py stdio COMMAND ARG... | http URL
"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp.client.streamable_http import streamable_http_client
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as streamable_http_client


def field(result, snake):
    """A field under its name in either version of the SDK."""
    camel = "".join(part.title() if n else part for n, part in enumerate(snake.split("_")))
    return getattr(result, snake, None) if hasattr(result, snake) else getattr(result, camel, None)


async def use(session):
    opened = await session.initialize()
    assert field(opened, "protocol_version") == "2025-11-25", opened
    assert "get_kb_info" in opened.instructions
    names = [tool.name for tool in (await session.list_tools()).tools]
    assert "get_kb_info" in names and names == sorted(names), names

    reply = await session.call_tool("get_kb_info", {})
    assert field(reply, "structured_content")["status"] == "available", reply
    refused = await session.call_tool("fixture_sleep", {"ms": -1})
    assert field(refused, "is_error") and "`ms` must be at least 0" in refused.content[0].text, refused

    steps = []

    async def progress(done, total, message):
        steps.append(done)

    await session.call_tool("fixture_sleep", {"ms": 400, "steps": 3}, progress_callback=progress)
    assert steps == [1, 2, 3], steps
    try:
        await session.call_tool("routed_find", {"query": "fail"})
        raise AssertionError("no error")
    except Exception as error:
        detail = getattr(error, "error", None)
        assert detail is not None and detail.code == -32002, repr(error)
        assert detail.data["errorCode"] == "INDEX_INCOMPATIBLE", detail
    replies = await asyncio.gather(*(session.call_tool("fixture_repeat", {"bytes": n}) for n in range(32)))
    assert [len(field(reply, "structured_content")["content"]) for reply in replies] == list(range(32))


async def main():
    transport, target, *args = sys.argv[1:]
    if transport == "stdio":
        parameters = StdioServerParameters(command=target, args=args)
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await use(session)
    else:
        async with streamable_http_client(target) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await use(session)


asyncio.run(main())
