import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { reaches } from '../support/runs/run-facts.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

let here: TestInstallation;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-guards-'));
  here = await startTestInstallation({ env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
});
afterAll(async () => {
  await here.stop();
  await rm(home, { recursive: true, force: true });
});

let made = 0;
type Client = TestInstallation['alice'];

const sourceOf = (name: string) => `EFFECT = "read"\ndef ${name}() -> str:\n    return "done"\n`;

async function customTool(name: string, description: string, by: Client = here.alice): Promise<string> {
  return (await by.ok(by.post('/api/custom-tools', { name, description, source_code: sourceOf(name) }))).id;
}

/** A server with one tool of this name, whose tools have been listed. */
async function server(tool: string, mark: string, more: object = {}): Promise<string> {
  const id = await unlistedServer(tool, mark, more);
  await here.alice.ok(here.alice.post(`/api/mcps/${id}/tools/refresh`));
  return id;
}

async function unlistedServer(tool: string, mark: string, more: object = {}): Promise<string> {
  const connection_config = { command: process.execPath, args: [`${SERVERS}/odd.mjs`, `named:${tool}`, mark], env: {} };
  const paths = [MODULES, process.execPath, SERVERS];
  const values = { name: `srv${++made}`, transport_type: 'stdio', connection_config, paths, ...more };
  return (await here.alice.ok(here.alice.post('/api/mcps', values))).id;
}

const agentOf = async (workflow_id: string) => {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  return here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
};
const change = (agent_id: string, values: object) => here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, values));

interface Scene {
  workflow_id: string;
  agent_id: string;
  /** The name that was listed. */
  name: string;
  /** How the guarded tool describes itself, whatever it is called. */
  described: RegExp;
  /** Renames the guarded tool or its source. */
  rename?: () => Promise<unknown>;
}

/** An agent that guards one tool of each kind of source. */
const KINDS: Record<string, (by?: Client) => Promise<Scene>> = {
  async custom(by = here.alice) {
    const name = `send${++made}`;
    const id = await customTool(name, `Guarded ${name}`, by);
    const rename = () =>
      by.ok(by.put(`/api/custom-tools/${id}`, { name: `${name}_renamed`, source_code: sourceOf(`${name}_renamed`) }));
    return { ...(await scene({ custom_tool_ids: [id] }, name)), described: new RegExp(`^Guarded ${name}$`), rename };
  },
  async mcp() {
    const name = `post${++made}`;
    const id = await server(name, ' guarded');
    const rename = () => here.alice.ok(here.alice.put(`/api/mcps/${id}`, { name: `renamed${++made}` }));
    return { ...(await scene({ mcp_server_ids: [id] }, name)), described: / guarded$/, rename };
  },
  async 'mcp whose tools were not listed when it was saved'() {
    const name = `late${++made}`;
    const id = await unlistedServer(name, ' guarded');
    const rename = () => here.alice.ok(here.alice.put(`/api/mcps/${id}`, { name: `renamed${++made}` }));
    return { ...(await scene({ mcp_server_ids: [id] }, name)), described: / guarded$/, rename };
  },
  async 'mcp with odd letters'() {
    const name = `pöst me${++made}`;
    const id = await server(name, ' guarded');
    return { ...(await scene({ mcp_server_ids: [id] }, name)), described: / guarded$/ };
  },
  async builtin() {
    return { ...(await scene({ builtin_tools: ['glob'] }, 'glob')), described: /files/i };
  },
  async definition() {
    const name = `defined${++made}`;
    const tool_definitions = [{ type: 'function', function: { name, description: 'Guarded definition' } }];
    return { ...(await scene({ tool_definitions }, name)), described: /^Guarded definition$/ };
  },
};

async function scene(tools: object, name: string): Promise<Omit<Scene, 'described'>> {
  const workflow_id = await here.workflow({ agent: { ...tools, approval_tools: [name] } });
  const { id } = await agentOf(workflow_id);
  return { workflow_id, agent_id: id, name };
}

/** Each way in which the model comes to see a guarded tool under another name, or another tool under the guarded name. */
const WAYS: Record<string, (it: Scene) => Promise<unknown>> = {
  'as it was saved': async () => {},
  'after a rename': async ({ rename }) => rename?.(),
  async 'after a custom tool took its name'({ agent_id, name }) {
    if (/[^\w]/.test(name)) return;
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const taken = name.startsWith('send') ? [] : [await customTool(`${name}`, 'Another tool')];
    await change(agent_id, { custom_tool_ids: [...taken, ...custom_tool_ids] });
  },
  async 'after a second server took its name'({ agent_id, name }) {
    const { mcp_server_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    await change(agent_id, { mcp_server_ids: [await server(name, ' second'), ...mcp_server_ids] });
  },
  async 'after a server with the same tool joined by its tag'({ agent_id, name }) {
    const tag = `joins${++made}`;
    await change(agent_id, { mcp_server_tags: [tag] });
    await server(name, ' joined', { tags: [tag] });
  },
  async 'after a server joined, and a rename'({ agent_id, name, rename }) {
    const tag = `joins${++made}`;
    await change(agent_id, { mcp_server_tags: [tag] });
    await server(name, ' joined', { tags: [tag] });
    await rename?.();
  },
};

const offered = () => (here.model.requests.at(-1)?.tools ?? []) as { function: { name: string; description: string } }[];

/** The names that the model sees now. */
async function seen(workflow_id: string) {
  here.model.script(says('Seen.'));
  await here.ended(await here.prompt(workflow_id));
  return offered().map(({ function: tool }) => tool);
}

async function expectParked(workflow_id: string, name: string): Promise<string> {
  here.model.script(asks({ name }), says('Over.'));
  const task_id = await here.prompt(workflow_id);
  await reaches(here, task_id, { status: 'waiting' });
  const [step] = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as { tool_calls: unknown[] }[];
  expect(step?.tool_calls, name).toMatchObject([{ name, approval: true, status: 'waiting_approval' }]);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'deny' }));
  await here.ended(task_id);
  return task_id;
}

describe.each(Object.keys(KINDS))('a guarded tool of the source %s', (kind) => {
  it.each(Object.keys(WAYS))('parks its call %s', async (way) => {
    const it = await KINDS[kind]!();
    await WAYS[way]!(it);
    const tools = await seen(it.workflow_id);
    const guarded = tools.filter(({ description }) => it.described.test(description));
    expect(guarded).toHaveLength(1);
    // What is offered under the listed name is guarded as well, even if another person made it.
    const named = tools.filter(({ name }) => name === it.name);
    for (const name of new Set([...guarded, ...named].map((tool) => tool.name))) await expectParked(it.workflow_id, name);
  });
});

it('follows a tool that another person renames', async () => {
  const it = await KINDS.custom!(here.bob);
  await it.rename!();
  expect((await agentOf(it.workflow_id)).approval_tools).toEqual([`${it.name}_renamed`]);
  await expectParked(it.workflow_id, `${it.name}_renamed`);
});

it('guards the tool of a server that is renamed, if it was listed under the server’s name', async () => {
  const name = `both${++made}`;
  const id = await server(name, ' guarded', { name: 'first-name' });
  const custom = await customTool(name, 'Another tool');
  const agent = { mcp_server_ids: [id], custom_tool_ids: [custom], approval_tools: [`first-name_${name}`] };
  const workflow_id = await here.workflow({ agent });
  await here.alice.ok(here.alice.put(`/api/mcps/${id}`, { name: 'renamed-later' }));
  expect((await agentOf(workflow_id)).approval_tools).toEqual([`renamed-later_${name}`]);
  await expectParked(workflow_id, `renamed-later_${name}`);
  here.model.script(asks({ name }), says('Not asked.'));
  expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ response: 'Not asked.' });
});

it('stays in a fork whose tools were changed so that another one has its name', async () => {
  const it = await KINDS.mcp!();
  const source = await expectParked(it.workflow_id, it.name);
  const taker = await customTool(it.name, 'Another tool');
  here.model.script(asks({ name: it.name }), says('Over.'));
  const body = { from_step: 1, effects: 'live', changes: { custom_tool_ids: [taker] } };
  const { task_id } = await here.alice.ok(here.alice.post(`/api/tasks/${source}/fork`, body), 201);
  await reaches(here, task_id, { status: 'waiting' });
  const moved = offered().find(({ function: { description } }) => it.described.test(description))!.function.name;
  expect(moved).not.toBe(it.name);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'deny' }));
  await here.ended(task_id);
  here.model.script(asks({ name: moved }), says('Over.'));
  const again = await here.alice.ok(here.alice.post(`/api/tasks/${source}/fork`, body), 201);
  await reaches(here, again.task_id, { status: 'waiting' });
  await here.alice.ok(here.alice.post(`/api/tasks/${again.task_id}/approvals/1-1`, { decision: 'deny' }));
  await here.ended(again.task_id);
});

describe('approve_effects', () => {
  it('asks before every call of such an effect, and a call of no other', async () => {
    const name = `write${++made}`;
    const id = await server(name, ' unknown effect');
    const agent = { mcp_server_ids: [id], builtin_tools: ['bash', 'glob'], approve_effects: ['write'] };
    const workflow_id = await here.workflow({ agent });
    await expectParked(workflow_id, name);
    await expectParked(workflow_id, 'bash');
    here.model.script(asks({ name: 'glob', args: { pattern: '*' } }), says('Read only.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ response: 'Read only.' });
    await change((await agentOf(workflow_id)).id, { approve_effects: ['read'] });
    await expectParked(workflow_id, 'glob');
  });

  it('is refused if it names no effect', async () => {
    const answer = await here.alice.post('/api/agents', { name: 'no effect', approve_effects: ['writes'] });
    expect(answer.status).toBe(422);
  });
});

describe('a name with what models write around it', () => {
  it.each(['functions.NAME', ' NAME ', '"NAME"'])(
    '%s is guarded, shown and called as the tool that it means',
    async (written) => {
      const name = `sent${++made}`;
      const id = await customTool(name, 'Sends');
      const workflow_id = await here.workflow({ agent: { custom_tool_ids: [id], approval_tools: [name] } });
      here.model.script(asks({ name: written.replace('NAME', name), args: 'null' }), says('Done.'));
      const task_id = await here.prompt(workflow_id);
      await reaches(here, task_id, { status: 'waiting' });
      await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
      expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
      expect(here.model.requests.at(-1)?.messages.at(-1)?.content).toContain('done');
    },
  );
});
