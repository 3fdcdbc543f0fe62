"""FastMCP's Client: modern era over stdio and HTTP.

usage: python fastmcp_client.py stdio COMMAND ARG... | http URL
"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError


async def main():
    transport, target, *args = sys.argv[1:]
    source = target if transport == "http" else StdioTransport(command=target, args=args)
    async with Client(source) as client:
        names = [tool.name for tool in await client.list_tools()]
        assert "get_kb_content" in names, names
        reply = await client.call_tool("get_kb_content", {})
        assert reply.structured_content["status"] == "ok", reply
        try:
            await client.call_tool("fixture_fail", {"outcome": "error"})
            raise AssertionError("no error")
        except ToolError as error:
            assert "no such note" in str(error), error


asyncio.run(main())
