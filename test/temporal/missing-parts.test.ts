import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { SERVERS } from '../tools/support.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw', JUDGE_SECONDS: '3' } });
});
afterAll(() => here.stop());

const NOTHING_LISTENS = 'http://127.0.0.1:1/mcp';
let made = 0;

const server = async (as: TestInstallation['alice'], name: string, more: object = {}) => {
  const values = { name, transport_type: 'http', connection_config: { url: NOTHING_LISTENS }, ...more };
  return (await as.ok(as.post('/api/mcps', values), 201)).id as string;
};
const tool = async (more: object = {}) => {
  const name = `part_${++made}`;
  const source_code = `def ${name}() -> int:\n    return 1\n`;
  return (await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code, ...more }), 201)) as {
    id: string;
    name: string;
  };
};

const offered = () => here.model.requests.at(-1)?.tools?.map(({ function: { name } }) => name);
/** A server over stdio that is odd in one of its ways. */
const odd = (manner: string, more: object = {}) =>
  server(here.alice, `odd ${manner}`, {
    ...{ transport_type: 'stdio', paths: [process.execPath, SERVERS], ...more },
    connection_config: { command: process.execPath, args: [`${SERVERS}/odd.mjs`, manner] },
  });

/** Runs an agent once; what its run said that it goes without. */
async function notOffered(agent: object): Promise<Record<string, any>[]> {
  here.model.script(says('Done without.'));
  const task_id = await here.prompt(await here.workflow({ agent }));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done without.' });
  const { logs } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
  const events = (logs as { event: string }[]).map(({ event }) => event);
  expect(events.filter((event) => event === 'context_built')).toHaveLength(1);
  expect(events.slice(0, events.indexOf('run_started'))).not.toContain('tools_not_offered');
  return (logs as Record<string, any>[]).filter(({ event }) => event === 'tools_not_offered');
}

it('a run without servers writes its tools in the transaction that begins it', async () => {
  here.model.script(says('Done.'));
  const task_id = await here.prompt(await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } }));
  await here.ended(task_id);
  const { rows } = await here.core.database.pool.query(
    `SELECT data ->> 'event' AS event, xmin::text AS written_by FROM events
      WHERE task_id = $1 AND data ->> 'event' IN ('model_call', 'context_built') ORDER BY seq`,
    [task_id],
  );
  const [begun, offers] = rows;
  expect(rows.map(({ event }) => event)).toEqual(['model_call', 'context_built']);
  expect(offers.written_by).toBe(begun.written_by);
});

describe('a run logs that it lacks', () => {
  it('a custom tool of its agent that is disabled, and offers the others', async () => {
    const [kept, lost] = [await tool(), await tool()];
    await here.alice.ok(here.alice.put(`/api/custom-tools/${lost.id}`, { is_enabled: false }));
    const missing = await notOffered({ custom_tool_ids: [kept.id, lost.id] });
    expect(missing).toMatchObject([{ tools: [lost.name], reason: 'it is disabled' }]);
    expect(offered()).toEqual([kept.name]);
  });

  it('the tools of an MCP server that is down', async () => {
    const missing = await notOffered({ mcp_server_ids: [await server(here.alice, 'down')] });
    expect(missing).toMatchObject([
      { tools: [], server: 'down', reason: expect.stringContaining('The MCP server down cannot be reached') },
    ]);
  });

  it('a tool of an MCP server whose schema takes too long to judge, and offers its others', async () => {
    const missing = await notOffered({ mcp_server_ids: [await odd('dear')] });
    expect(missing).toMatchObject([
      {
        ...{ tools: ['dear'], server: 'odd dear', reason: expect.stringContaining('could not be checked: it takes longer than') },
        detail: expect.stringContaining('dear of the MCP server odd dear: its input schema'),
      },
    ]);
    expect(offered()).toEqual(['good']);
  });

  it('the tools of an MCP server whose schemas are not valid, and those that it does not have', async () => {
    const missing = await notOffered({
      mcp_server_ids: [await odd('schemas', { allowed_tools: ['good', 'no_schema', 'absent'] })],
    });
    expect(missing.map(({ tools, reason }) => [tools, reason])).toEqual([
      [['no_schema'], 'it has no input schema'],
      [['absent'], 'the server has no such tool'],
    ]);
    expect(offered()).toEqual(['good']);
  });

  it('the tools of an MCP server that its tag would join, had somebody else not made it', async () => {
    await server(here.bob, 'of bob', { tags: ['joined'] });
    const missing = await notOffered({ mcp_server_tags: ['joined'] });
    expect(missing).toMatchObject([{ tools: [], server: 'of bob', reason: expect.stringContaining('someone else made it') }]);
  });

  it('nothing, if it has everything', async () => {
    expect(await notOffered({ custom_tool_ids: [(await tool()).id] })).toEqual([]);
  });
});
