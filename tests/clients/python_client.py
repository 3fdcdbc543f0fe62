"""The Python SDK's Client, version 2: modern era over stdio and HTTP.

usage: python python_client.py stdio COMMAND ARG... | http URL
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    transport, target, *args = sys.argv[1:]
    source = target if transport == "http" else stdio_client(StdioServerParameters(command=target, args=args))
    async with Client(source) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "get_kb_content" in names, names
        reply = await client.call_tool("get_kb_info", {})
        assert reply.structured_content["info"]["isAvailable"] is True, reply
        refused = await client.call_tool("get_kb_info", {"query": "x"})
        assert refused.is_error and "`query` is not an argument" in refused.content[0].text, refused


asyncio.run(main())
