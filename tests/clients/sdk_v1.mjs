// The TypeScript SDK, version 1: legacy era over stdio and HTTP.
// usage: node sdk_v1.mjs stdio COMMAND ARG... | http URL
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [transport, target, ...args] = process.argv.slice(2);
const client = new Client({ name: 'check', version: '0' }, { capabilities: {} });
await client.connect(
  transport === 'stdio'
    ? new StdioClientTransport({ command: target, args, stderr: 'ignore' })
    : new StreamableHTTPClientTransport(new URL(target)),
);
assert.equal(client.getServerVersion().name, 'ibid');
assert.match(client.getInstructions(), /get_kb_info/);

const { tools } = await client.listTools();
const info = tools.find((tool) => tool.name === 'get_kb_info');
assert.equal(info.annotations.readOnlyHint, true);
assert.equal(info.outputSchema.type, 'object');

// The SDK checks structured content against the output schema by itself.
const reply = await client.callTool({ name: 'get_kb_info', arguments: {} });
assert.equal(reply.structuredContent.status, 'available');
assert.deepEqual(JSON.parse(reply.content[0].text), reply.structuredContent);
const content = await client.callTool({ name: 'get_kb_content', arguments: {} });
assert.equal(content.structuredContent.contentLength, [...content.structuredContent.content].length);

const refused = await client.callTool({ name: 'get_kb_info', arguments: { query: 'x' } });
assert.equal(refused.isError, true);
assert.match(refused.content[0].text, /`query` is not an argument/);
await assert.rejects(client.callTool({ name: 'get_kb_inf', arguments: {} }), (error) => error.code === -32602);
await assert.rejects(
  client.callTool({ name: 'routed_find', arguments: { query: 'fail' } }),
  (error) => error.code === -32002 && error.data.errorCode === 'INDEX_INCOMPATIBLE',
);
await assert.rejects(
  client.callTool({ name: 'fixture_fail', arguments: { outcome: 'panic' } }),
  (error) => error.code === -32603,
);

const steps = [];
await client.callTool({ name: 'fixture_sleep', arguments: { ms: 400, steps: 3 } }, undefined, {
  onprogress: (progress) => steps.push(progress.progress),
});
assert.deepEqual(steps, [1, 2, 3]);

const abort = new AbortController();
setTimeout(() => abort.abort('enough'), 200);
await assert.rejects(
  client.callTool({ name: 'fixture_sleep', arguments: { ms: 30000 } }, undefined, { signal: abort.signal }),
);
const after = await Promise.all(
  Array.from({ length: 32 }, (_, n) => client.callTool({ name: 'fixture_repeat', arguments: { bytes: n } })),
);
after.forEach((one, n) => assert.equal(one.structuredContent.content.length, n));
await client.close();
