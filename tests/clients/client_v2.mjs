// The TypeScript client, version 2: either era over stdio and HTTP.
// usage: ERA=legacy|auto node client_v2.mjs stdio COMMAND ARG... | http URL
import assert from 'node:assert/strict';
import * as sdk from '@modelcontextprotocol/client';

const [transport, target, ...args] = process.argv.slice(2);
const options = { capabilities: {} };
if (process.env.ERA === 'auto') options.versionNegotiation = { mode: 'auto' };
const client = new sdk.Client({ name: 'check', version: '0' }, options);
if (transport === 'stdio') {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  await client.connect(new StdioClientTransport({ command: target, args, stderr: 'ignore' }));
} else {
  await client.connect(new sdk.StreamableHTTPClientTransport(new URL(target)));
}
assert.equal(client.getNegotiatedProtocolVersion(), process.env.ERA === 'auto' ? '2026-07-28' : '2025-11-25');
assert.match(client.getInstructions(), /get_kb_info/);

const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === 'get_kb_content'));
const reply = await client.callTool({ name: 'get_kb_info', arguments: {} });
assert.equal(reply.structuredContent.status, 'available');
const refused = await client.callTool({ name: 'fixture_sleep', arguments: { ms: 'soon' } });
assert.equal(refused.isError, true);
assert.match(refused.content[0].text, /`ms` must be an integer/);
await assert.rejects(
  client.callTool({ name: 'routed_find', arguments: { query: 'fail' } }),
  (error) => error.code === -32002 && error.data.errorCode === 'INDEX_INCOMPATIBLE',
);

const steps = [];
await client.callTool(
  { name: 'fixture_sleep', arguments: { ms: 400, steps: 3 } },
  { onprogress: (progress) => steps.push(progress.progress) },
);
assert.deepEqual(steps, [1, 2, 3]);
const abort = new AbortController();
setTimeout(() => abort.abort('enough'), 200);
await assert.rejects(
  client.callTool({ name: 'fixture_sleep', arguments: { ms: 30000 } }, { signal: abort.signal }),
);
assert.equal((await client.callTool({ name: 'get_kb_info', arguments: {} })).isError ?? false, false);
await client.close();
