import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import type { StepRequest } from '../../src/contracts/run-inspection.ts';
import { createOutputGuards } from '../../src/main/wiring/guardrails.ts';
import { replay } from '../../src/replay/replay.ts';
import { testParsers } from '../support/contract/parsers.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, type ModelServer, says, startModelServer } from '../support/peers/model-server.ts';

const parsers = testParsers();
let here: TestInstallation;
let far: ModelServer;
beforeAll(async () => {
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none', SHARED_WRITE: 'owner' } });
  far = await startModelServer();
});
afterAll(async () => {
  await parsers.close();
  await far.stop();
  await here.stop();
});

const read = async <T>(path: string) => (await here.alice.ok(here.alice.get(`/api/${path}`))) as unknown as T;
const request = (id: string, step: number) => read<StepRequest>(`tasks/${id}/steps/${step}/request`);
const fork = (task_id: string, body: object) => here.alice.post(`/api/tasks/${task_id}/fork`, body);
const sentLast = () => here.model.requests.at(-1)!;

/** A fork that has ended. */
async function trial(task_id: string, body: object) {
  const { task_id: id } = await here.alice.ok(fork(task_id, body), 201);
  return here.ended(id);
}

let made = 0;
const tool = async (answer: string) => {
  const name = `look_${++made}`;
  const source_code = `EFFECT = "read"\ndef ${name}(at: str) -> str:\n    return "${answer} " + at\n`;
  return { name, id: (await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code }))).id as string };
};

/** A run that looks once and answers. */
async function source() {
  const known = await tool('seen');
  const agent = { custom_tool_ids: [known.id], builtin_tools: ['manage_todo_list'], system_prompt: 'Be kind.' };
  const workflow_id = await here.workflow({ agent, workflow: { max_turns: 9 } });
  here.model.script(asks({ name: known.name, args: { at: 'home' } }), says('Seen.'));
  const task_id = await here.prompt(workflow_id, 'Look around.');
  const { definition_hash, agent_id } = await here.ended(task_id);
  return { task_id, workflow_id, agent_id, definition_hash, known };
}

describe('a fork with changes', () => {
  it('gives its model another system prompt, effort, format and set of tools, and shows them as its own', async () => {
    const { task_id, known, definition_hash } = await source();
    const added = await tool('new');
    here.model.script(asks({ name: added.name, args: { at: 'there' } }), says('{"seen": true}'));
    const changes = {
      ...{ system_prompt: 'Be brief.', model: 'other', reasoning_effort: 'low', output_format: 'json' },
      ...{ custom_tool_ids: [added.id], builtin_tools: [] },
    };
    const ended = await trial(task_id, { from_step: 2, changes });
    expect(ended).toMatchObject({ status: 'completed', response: { seen: true }, model: 'other', steps: 3 });
    expect(ended.definition_hash).not.toBe(definition_hash);
    expect(sentLast()).toMatchObject({ model: 'other', reasoning_effort: 'low' });
    expect(sentLast().messages[0]?.content).toMatch(/^Be brief\./);
    expect(sentLast().tools?.map(({ function: { name } }) => name)).toEqual([added.name]);
    const { changeable, not_rebuilt, instructions } = await request(ended.id, 2);
    expect(changeable).toMatchObject(changes);
    expect(not_rebuilt).toEqual([]);
    expect(instructions).toBe(sentLast().messages[0]?.content);
    const copied = await request(ended.id, 1);
    expect(copied.not_rebuilt).toContainEqual(expect.stringContaining('copied into a fork with changes'));
    expect([copied.model, (await request(ended.id, 2)).model]).toEqual(['scripted', 'other']);
    const { logs } = await read<{ logs: { event: string; detail: string }[] }>(`tasks/${ended.id}`);
    expect(logs.find(({ event }) => event === 'forked')?.detail).toBe(
      `Forked from step 2 of the run ${task_id} with another ${Object.keys(changes).sort().join(', ')}`,
    );
    expect((await request(task_id, 2)).changeable).toMatchObject({ system_prompt: 'Be kind.', custom_tool_ids: [known.id] });
  });

  it('leaves the workflow, its agent and its versions as they are', async () => {
    const { task_id, workflow_id, agent_id } = await source();
    const state = async () => ({
      versions: (await read<{ number: number }[]>(`workflows/${workflow_id}/versions`)).map(({ number }) => number),
      agent: await read(`agents/${agent_id}`),
      updated_at: (await read<{ updated_at: string }>(`agents/${agent_id}`)).updated_at,
    });
    const before = await state();
    here.model.script(says('Briefly.'), says('As before.'));
    await trial(task_id, { from_step: 2, changes: { system_prompt: 'Be brief.' } });
    expect(await state()).toEqual(before);
    await here.ended(await here.prompt(workflow_id, 'Again.'));
    expect(sentLast().messages[0]?.content).toMatch(/^Be kind\./);
    expect(await state()).toEqual(before);
  });

  it('has the definition of its source run if the changes change nothing', async () => {
    const { task_id, definition_hash } = await source();
    here.model.script(says('The same.'));
    const { changeable } = await request(task_id, 2);
    expect((await trial(task_id, { from_step: 2, changes: changeable })).definition_hash).toBe(definition_hash);
  });

  it('asks another provider, with the key that it may have, and without what only the source knows', async () => {
    const { task_id } = await source();
    await here.core.database.pool.query(
      `UPDATE task_messages SET extra = '{"reasoning_details": "mine"}' WHERE task_id = $1 AND position = 0`,
      [task_id],
    );
    await here.alice.ok(here.alice.post('/api/tokens', { name: `far-key-${++made}`, value: 'the-key-of-the-far-provider' }));
    const values = {
      ...{ name: `far ${made}`, provider_type: 'openai_compatible', base_url: far.url, default_model: 'far-model' },
      api_key_token_name: `far-key-${made}`,
    };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
    far.script(says('From afar.'));
    const ended = await trial(task_id, { from_step: 2, changes: { provider_id } });
    expect(ended).toMatchObject({ status: 'completed', response: 'From afar.', model: 'far-model' });
    const asked = far.requests.at(-1)!;
    expect(asked).toMatchObject({ model: 'far-model', authorization: 'Bearer the-key-of-the-far-provider' });
    expect(JSON.stringify(asked.messages)).not.toContain('mine');
    here.model.script(says('From near.'));
    await trial(task_id, { from_step: 2, changes: { model: 'other' } });
    expect(JSON.stringify(sentLast().messages)).toContain('mine');
  });

  it('gives its model other texts of copied messages; the first prompt is what it is a run of', async () => {
    const { task_id } = await source();
    here.model.script(says('Otherwise.'));
    const messages = [
      { step: 0, position: 0, content: 'Look closely.' },
      { step: 1, position: 1, content: '{"result": "nothing there"}' },
    ];
    const ended = await trial(task_id, { from_step: 2, effects: 'stub', changes: { messages } });
    expect(ended).toMatchObject({ prompt: 'Look closely.', response: 'Otherwise.' });
    const [, prompt, call, result] = sentLast().messages;
    expect([prompt?.content, result?.content]).toEqual(['Look closely.', '{"result": "nothing there"}']);
    expect(call?.tool_calls).toHaveLength(1);
    expect((await request(task_id, 2)).messages[0]).toMatchObject({ content: 'Look around.' });
    expect((await request(ended.id, 2)).messages.map(({ content }) => content)).toContain('{"result": "nothing there"}');
  });

  it('is replayed without a difference, and forked itself with its changes', async () => {
    const { task_id } = await source();
    here.model.script(says('Otherwise.'), says('Again.'));
    const messages = [{ step: 0, position: 0, content: 'Look closely.' }];
    const changes = { system_prompt: 'Be brief.', custom_tool_ids: [], messages };
    const { id } = await trial(task_id, { from_step: 2, changes });
    const bundle = await read<RunBundle>(`tasks/${id}/bundle`);
    expect((await replay(bundle, createOutputGuards(parsers.judge))).difference).toBeNull();
    const again = await trial(id, { from_step: 2 });
    expect(again).toMatchObject({ response: 'Again.', prompt: 'Look closely.' });
    expect(sentLast().messages[0]?.content).toMatch(/^Be brief\./);
  });
});

describe('changes are refused', () => {
  const UNKNOWN = '01900000-0000-7000-8000-000000000000';

  it('at the field that is wrong', async () => {
    const { task_id } = await source();
    const off = await tool('off');
    await here.alice.ok(here.alice.put(`/api/custom-tools/${off.id}`, { is_enabled: false }));
    const text = { content: 'x' };
    for (const [changes, path, from_step = 2] of [
      [{ provider_id: UNKNOWN }, 'changes.provider_id'],
      [{ custom_tool_ids: [UNKNOWN] }, 'changes.custom_tool_ids'],
      [{ custom_tool_ids: [off.id] }, 'changes.custom_tool_ids'],
      [{ builtin_tools: ['manage_todo_list', 'manage_todos'] }, 'changes.builtin_tools.1'],
      [{ mcp_server_ids: [UNKNOWN] }, 'changes.mcp_server_ids'],
      [{ output_format: 'xml' }, 'changes.output_format'],
      [{ messages: [{ step: 0, position: 0, content: '' }] }, 'changes.messages.0.content'],
      [
        {
          messages: [
            { step: 0, position: 0, ...text },
            { step: 2, position: 0, ...text },
          ],
        },
        'changes.messages.1',
      ],
      [{ messages: [{ step: 1, position: 1, ...text }] }, 'changes.messages.0', 1],
    ] as [object, string, number?][])
      expect(await fork(task_id, { from_step, changes })).toMatchObject({
        status: 422,
        body: { code: 'invalid_fields', errors: [{ path }] },
      });
    const replaced = { from_step: 1, prompt: 'New.', changes: { messages: [{ step: 0, position: 0, ...text }] } };
    expect(await fork(task_id, replaced)).toMatchObject({ status: 422, body: { errors: [{ path: 'changes.messages.0' }] } });
  });

  it('if a guardrail of the workflow refuses the text of an edited message', async () => {
    const { task_id, workflow_id } = await source();
    const values = { name: `no gold ${++made}`, guardrail_type: 'prompt', config: { forbidden_patterns: ['gold'] } };
    const { id } = await here.alice.ok(here.alice.post('/api/guardrails', values));
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { guardrail_ids: [id] }));
    const edit = (position: number, step: number) => ({
      from_step: 2,
      changes: { messages: [{ step, position, content: 'Find gold.' }] },
    });
    for (const prompt of [undefined, 'Continue.'])
      expect(await fork(task_id, { ...edit(0, 0), prompt })).toMatchObject({
        status: 422,
        body: { code: 'guardrail_blocked', errors: [{ path: 'changes.messages.0.content' }] },
      });
    here.model.script(says('Found.'));
    await trial(task_id, edit(1, 1));
  });

  it('for a provider that keeps conversations itself', async () => {
    const { task_id } = await source();
    const vendor = { name: `vendor ${++made}`, provider_type: 'anthropic', api_key_token_name: null };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', vendor));
    expect(await fork(task_id, { from_step: 2, changes: { provider_id } })).toMatchObject({
      status: 422,
      body: { code: 'fork_unsupported', errors: [{ path: 'changes.provider_id' }] },
    });
  });

  it('to callers who do not own the run, and so is what saves them', async () => {
    const { task_id, workflow_id, agent_id } = await source();
    const body = { from_step: 2, changes: { system_prompt: 'Be mine.' } };
    expect((await here.bob.post(`/api/tasks/${task_id}/fork`, body)).status).toBe(403);
    expect((await here.bob.get(`/api/tasks/${task_id}/steps/2/request`)).status).toBe(403);
    expect((await here.bob.put(`/api/workflows/${workflow_id}`, { reasoning_effort: 'low' })).status).toBe(403);
    expect((await here.bob.put(`/api/agents/${agent_id}`, { system_prompt: 'Be mine.' })).status).toBe(403);
  });
});
