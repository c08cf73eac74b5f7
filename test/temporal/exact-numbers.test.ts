import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ALLOW_STDIO_MCP: 'true' } });
});
afterAll(() => here.stop());

const ID = '1234567890123456789';
const NEXT = '1234567890123456790';
const LOOK =
  'def look(id: int, name: str = "") -> dict:\n    """Looks up a message."""\n    return {"next": id + 1, "name": name}\n';

/** The results of the calls of one run, as the model gets them. */
async function results(workflow_id: string, ...calls: { name: string; args: string }[]): Promise<(string | null)[]> {
  here.model.script(asks(...calls.map((call, index) => ({ ...call, id: `call_${index}` }))), says('Done.'));
  expect((await here.ended(await here.prompt(workflow_id))).status).toBe('completed');
  return here.model.requests.at(-1)!.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
}

it('a custom tool gets the identifier that the model wrote, as a number or as a text', async () => {
  const workflow_id = await here.workflow({ tools: [LOOK] });
  const { name } = ((await here.alice.get('/api/custom-tools?limit=1')).body as { name: string }[])[0]!;
  expect(
    await results(
      workflow_id,
      { name, args: `{"id": ${ID}}` },
      { name, args: `{"id": "${ID}"}` },
      { name, args: `{"id": 1, "name": ${ID}}` },
    ),
  ).toEqual([`{"next": ${NEXT}, "name": ""}`, `{"next": ${NEXT}, "name": ""}`, `{"next": 2, "name": "${ID}"}`]);
});

it('a custom tool that a person tries gets it, too', async () => {
  await here.workflow({ tools: [LOOK] });
  const { id } = ((await here.alice.get('/api/custom-tools?limit=1')).body as { id: string }[])[0]!;
  const tried = await here.alice.ok(here.alice.post(`/api/custom-tools/${id}/run`, `{"arguments": {"id": ${ID}}}`));
  expect(tried).toMatchObject({ success: true, result: `{"next": ${NEXT}, "name": ""}` });
});

it('an MCP server gets it, too', async () => {
  const servers = resolve(import.meta.dirname, '../tools/servers');
  const connection_config = { command: 'python3', args: [`${servers}/numbers.py`] };
  const server = { name: 'numbers', transport_type: 'stdio', connection_config, paths: [servers] };
  const { id } = await here.alice.ok(here.alice.post('/api/mcps', server), 201);
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id] } });
  expect(await results(workflow_id, { name: 'following', args: `{"id": ${ID}}` })).toEqual([NEXT]);
});

it('a call that names an argument twice is refused, and nobody is asked to approve one of the two', async () => {
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'], approval_tools: ['bash'] } });
  const args = '{"command": "echo safe", "command": "echo other"}';
  expect(await results(workflow_id, { name: 'bash', args })).toEqual([expect.stringContaining('name "command" twice')]);
});

it('a fork distinguishes calls by it', async () => {
  const workflow_id = await here.workflow({ tools: [LOOK] });
  const { name } = ((await here.alice.get('/api/custom-tools?limit=1')).body as { name: string }[])[0]!;
  const call = { name, args: `{"id": ${ID}}` };
  here.model.script(asks(call), says('Done.'));
  const { id } = await here.ended(await here.prompt(workflow_id));
  here.model.script(asks({ name, args: '{"id": 1234567890123456788}' }), says('Done.'));
  const { task_id } = await here.alice.ok(here.alice.post(`/api/tasks/${id}/fork`, { from_step: 1, effects: 'stub' }), 201);
  expect((await here.ended(task_id)).status).toBe('completed');
  expect(here.model.requests.at(-1)!.messages.at(-1)!.content).toContain('Stub: ');
});
