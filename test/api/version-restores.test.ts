import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { versionsAt } from '../support/runs/versions.ts';

let here: TestInstallation;
let at: ReturnType<typeof versionsAt>;

beforeAll(async () => {
  here = await shareInstallation();
  here.model.always(says('Done.'));
  at = versionsAt(here);
});
afterAll(() => here.stop());

describe('a workflow is set back to a version', () => {
  it('with all the fields that it had', async () => {
    const first = {
      title: 'First',
      max_turns: 3,
      budget: null,
      webhook_url: null,
      output_format: 'json',
      on_busy: 'reject',
      output_schema: null,
    };
    const id = await here.workflow({ workflow: first });
    const second = { title: 'Second', max_turns: 8, budget: { max_tokens: 5 }, output_format: 'markdown', on_busy: 'enqueue' };
    const output_schema = { type: 'object' };
    await at.set(`workflows/${id}`, { ...second, output_schema, webhook_url: 'https://example.com/hook' });
    expect(await here.alice.ok(at.restore(id, 1))).toEqual({
      workflow_id: id,
      agent_id: await at.agentOf(id),
      version: 1,
      exact: true,
      differences: [],
    });
    expect(await at.workflowOf(id)).toMatchObject(first);
    expect((await at.list(id)).map(({ number, current }) => [number, current])).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  it('without the settings of a call and of an agent, if the version is older than they are', async () => {
    const id = await here.workflow();
    const older = `UPDATE workflow_versions SET config = config #- '{workflow,temperature}' #- '{workflow,stop}' #- '{agent,approve_effects}'
      WHERE workflow_id = $1`;
    await here.sql(older, id);
    await at.set(`workflows/${id}`, { temperature: 0.3, stop: ['END'] });
    expect(await here.alice.ok(at.restore(id, 1))).toMatchObject({ version: 1, exact: true });
    expect(await at.workflowOf(id)).toMatchObject({ temperature: null, stop: [] });
  });

  it('names what skills and other shared resources make different', async () => {
    const skill = await at.make('skills', { name: 'manners', instructions: 'Be kind.' });
    const id = await here.workflow({ workflow: { skill_ids: [skill] } });
    await at.set(`workflows/${id}`, { skill_ids: [] });
    await at.set(`skills/${skill}`, { instructions: 'Be brief.' });
    expect(await here.alice.ok(at.restore(id, 1))).toMatchObject({
      version: 3,
      exact: false,
      differences: [{ path: 'skills[manners].instructions', before: 'Be kind.', after: 'Be brief.' }],
    });
    await at.set(`workflows/${id}`, { skill_ids: [] });
    await here.alice.ok(here.alice.del(`/api/skills/${skill}`), 204);
    const refused = await at.restore(id, 1);
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'skill_ids']);
    expect((await at.workflowOf(id)).skill_ids).toEqual([]);
  });

  it('only with a word about the agent, if that has changed', async () => {
    const id = await here.workflow({
      agent: { system_prompt: 'Old.', builtin_tools: ['web_fetch'] },
      workflow: { max_turns: 3 },
    });
    const agent_id = await at.agentOf(id);
    await at.set(`agents/${agent_id}`, { system_prompt: 'New.', builtin_tools: [] });
    await at.set(`workflows/${id}`, { max_turns: 4 });
    const refused = await at.restore(id, 1);
    expect(refused.body).toMatchObject({ status: 409, code: 'agent_differs' });
    expect(refused.body.detail).toContain('has changed since version 1 (builtin_tools, system_prompt)');
    expect((await at.workflowOf(id)).max_turns).toBe(4);

    expect(await here.alice.ok(at.restore(id, 1, { agent: 'keep' }))).toMatchObject({ agent_id, exact: false });
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('New.');
    expect((await at.workflowOf(id)).max_turns).toBe(3);

    expect(await here.alice.ok(at.restore(id, 1, { agent: 'change' }))).toMatchObject({ agent_id, exact: true, version: 1 });
    const back = { system_prompt: 'Old.', builtin_tools: ['web_fetch'] };
    expect(await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).toMatchObject(back);
  });

  it('without changing an agent that someone else made', async () => {
    const id = await here.workflow({ agent: { system_prompt: 'Old.' } });
    const agent_id = await at.agentOf(id);
    const { id: own } = await here.bob.ok(here.bob.post('/api/workflows', { agent_id }), 201);
    await at.set(`agents/${agent_id}`, { system_prompt: 'New.' });
    const as = (agent: string) => here.bob.post(`/api/workflows/${own}/versions/1/restore`, { agent });
    expect((await as('change')).status).toBe(403);
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('New.');
    const copy = await here.bob.ok(here.bob.get(`/api/agents/${(await as('copy')).body.agent_id}`));
    expect(copy).toMatchObject({ system_prompt: 'Old.', created_by: here.people.bob.subject });
  });

  it('with a copy of the agent, once for a repeated request', async () => {
    const id = await here.workflow({ agent: { system_prompt: 'Old.' }, workflow: { title: 'Office' } });
    const agent_id = await at.agentOf(id);
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    await at.set(`agents/${agent_id}`, { system_prompt: 'New.' });
    const key = { 'idempotency-key': `restore ${id}` };
    const first = await here.alice.ok(at.restore(id, 1, { agent: 'copy' }, key));
    expect(await here.alice.ok(at.restore(id, 1, { agent: 'copy' }, key))).toEqual(first);
    const copy = await here.alice.ok(here.alice.get(`/api/agents/${first.agent_id}`));
    expect(copy).toMatchObject({
      name: `${name} (version 1 of Office)`,
      system_prompt: 'Old.',
      created_by: here.people.alice.subject,
    });
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('New.');
    expect(await at.agentOf(id)).toBe(copy.id);
    expect((await at.run(id)).agent_name).toBe(copy.name);
    // What the agent is called differs, and nothing else.
    expect(first.differences.map(({ path }: Record<string, any>) => path)).toEqual(['agent.id', 'agent.name']);
  });

  it('with one copy of the agent, also if a server that died is followed by another', async () => {
    const id = await here.workflow();
    const key = { 'idempotency-key': `resumed ${id}` };
    const { agent_id } = await here.alice.ok(at.restore(id, 1, { agent: 'copy' }, key));
    await here.sql(
      `UPDATE idempotency_keys SET reply = NULL, created_at = created_at - interval '1 minute' WHERE key = $1`,
      `resumed ${id}`,
    );
    expect((await here.alice.ok(at.restore(id, 1, { agent: 'copy' }, key))).agent_id).toBe(agent_id);
    expect(await here.sql('SELECT id FROM agents WHERE id = $1', agent_id)).toHaveLength(1);
  });

  it('whose agent was deleted, with a copy', async () => {
    const id = await here.workflow({ agent: { system_prompt: 'Old.' } });
    const [gone, other] = [await at.agentOf(id), await at.agentOf(await here.workflow())];
    await at.set(`workflows/${id}`, { agent_id: other });
    await here.alice.ok(here.alice.del(`/api/agents/${gone}`), 204);
    for (const agent of [undefined, 'keep', 'change'])
      expect((await at.restore(id, 1, agent ? { agent } : {})).body).toMatchObject({ status: 409, code: 'agent_missing' });
    const { agent_id } = await here.alice.ok(at.restore(id, 1, { agent: 'copy' }));
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('Old.');
  });

  it('unless only its definition is known, from before there were versions', async () => {
    const id = await here.workflow();
    await here.sql('UPDATE workflow_versions SET config = NULL WHERE workflow_id = $1', id);
    expect((await at.list(id))[0]?.restorable).toBe(false);
    expect((await at.restore(id, 1)).body).toMatchObject({ status: 409, code: 'version_without_settings' });
  });
});
