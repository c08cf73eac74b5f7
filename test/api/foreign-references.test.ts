import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { EXPORTED } from '../../src/contracts/transfer.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
  agent_id = (await here.alice.ok(here.alice.post('/api/agents', { name: 'known' }), 201)).id;
});
afterAll(() => here.stop());

const FOREIGN = '507f1f77bcf86cd799439011';
const ABSENT = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be999';

/** Fields of an item that hold ids of other records. */
const referencesOf = (schema: z.ZodObject) =>
  Object.entries(schema.shape as Record<string, z.ZodType>)
    .filter(([name, field]) => (/_ids?$/.test(name) || name === 'required_mcp_servers') && takesText(field))
    .map(([name, field]) => ({ name, many: field.safeParse([FOREIGN]).success }));
const takesText = (field: z.ZodType) => field.safeParse(FOREIGN).success || field.safeParse([FOREIGN]).success;

/** What an item cannot be created without; it is skipped. */
const SKIPPED = ['workflow.agent_id', 'scheduled_agent.workflow_id'];
/** References without which a run would do what its author excluded. */
const UNSAFE = ['agent.provider_id', 'agent.required_mcp_servers', 'workflow.skill_ids', 'workflow.guardrail_ids'];

const PATHS = { agent: '/api/agents', workflow: '/api/workflows', scheduled_agent: '/api/scheduled-agents' };
const REFERENCES = (Object.keys(PATHS) as (keyof typeof PATHS)[]).flatMap((type) =>
  referencesOf(EXPORTED[type]).map(({ name, many }) => ({ type, name, many, title: `${type}.${name}` })),
);

let made = 0;
const itemOf = (type: keyof typeof PATHS): object =>
  ({
    agent: { name: `imported ${++made}` },
    workflow: { agent_id, title: `imported ${++made}` },
    scheduled_agent: { name: `imported ${++made}`, workflow_id: FOREIGN, prompt: 'x', cron: '@daily' },
  })[type];

it('finds the references of every kind of item', () => {
  expect(REFERENCES.map(({ title }) => title).sort()).toEqual(
    [
      ...['agent.custom_tool_ids', 'agent.knowledge_source_ids', 'agent.mcp_server_ids', 'agent.provider_id'],
      ...['agent.required_mcp_servers', 'scheduled_agent.workflow_id', 'workflow.agent_id', 'workflow.guardrail_ids'],
      'workflow.skill_ids',
    ].sort(),
  );
});

describe.each(REFERENCES)('$title that names an id of another product', ({ type, name, many, title }) => {
  const imported = (dry = false) => {
    const items = [{ ...itemOf(type), [name]: many ? [FOREIGN] : FOREIGN }];
    return here.alice.ok(here.alice.post(`${PATHS[type]}/import${dry ? '?dry_run=true' : ''}`, { items }), 201);
  };

  it('is reported, and so it is in a dry run', async () => {
    for (const dry of [true, false]) {
      const { errors, created, warnings } = await imported(dry);
      expect(errors).toEqual([expect.stringMatching(new RegExp(`^\\w+\\.0 .*${name}: .*${FOREIGN}`))]);
      expect(created).toBe(SKIPPED.includes(title) ? 0 : 1);
      if (!SKIPPED.includes(title)) expect(warnings[0]?.message).toContain('without references');
    }
  });

  it.skipIf(SKIPPED.includes(title))('leaves a record that can be saved, or that runs refuse until it is set', async () => {
    const path = `${PATHS[type]}/${(await imported()).ids[0]}`;
    const record = await here.alice.ok(here.alice.get(path));
    expect(JSON.stringify(record)).not.toContain(FOREIGN);
    const workflow = type === 'agent' ? await here.alice.post('/api/workflows', { agent_id: record.id }) : { body: record };
    const prompted = await here.alice.post(`/api/workflows/${workflow.body.id}/prompt`, { prompt: 'x' });
    if (!UNSAFE.includes(title)) {
      expect(prompted.status).toBe(201);
      expect((await here.alice.put(path, record)).status).toBe(200);
      return;
    }
    expect(prompted.status).toBe(409);
    // Sent back as it was read, it is as it was.
    expect((await here.alice.put(path, record)).status).toBe(200);
    expect((await here.alice.get(path)).body).toMatchObject({ [name]: record[name] });
    if (type === 'workflow') return expect(record).toMatchObject({ status: 'inactive', enabled: false });
    expect(record.warnings).toMatchObject([{ path: name, message: expect.stringContaining(`set \`${name}\``) }]);
    await here.alice.ok(here.alice.put(path, { [name]: many ? [] : null }));
    expect((await here.alice.get(path)).body.warnings).toBeUndefined();
    expect((await here.alice.post(`/api/workflows/${workflow.body.id}/prompt`, { prompt: 'x' })).status).toBe(201);
  });
});

describe.each(REFERENCES.filter(({ title }) => !SKIPPED.includes(title)))(
  '$title of a record that is not here',
  ({ type, name, many }) => {
    it('is kept when the record is sent back, and refused when it is new', async () => {
      const items = [{ ...itemOf(type), [name]: many ? [ABSENT] : ABSENT }];
      const { ids } = await here.alice.ok(here.alice.post(`${PATHS[type]}/import`, { items }), 201);
      const path = `${PATHS[type]}/${ids[0]}`;
      const record = await here.alice.ok(here.alice.get(path));
      expect(await here.alice.ok(here.alice.put(path, record))).toMatchObject({ [name]: many ? [ABSENT] : ABSENT });
      const other = ABSENT.replace('999', '998');
      const { status, body } = await here.alice.put(path, { ...record, [name]: many ? [ABSENT, other] : other });
      expect([status, body.detail]).toEqual([422, expect.stringContaining(other)]);
      expect(body.detail).not.toContain(ABSENT);
    });
  },
);

it.each([
  ['provider_id', ABSENT, 'provider_missing'],
  ['required_mcp_servers', [ABSENT], 'required_mcp_server_missing'],
])('a run is refused while the %s of its agent is not here', async (name, value, code) => {
  const items = [{ ...itemOf('agent'), [name]: value }];
  const { ids } = await here.alice.ok(here.alice.post('/api/agents/import', { items }), 201);
  expect((await here.alice.get(`/api/agents/${ids[0]}`)).body[name]).toEqual(value);
  const { id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id: ids[0] }), 201);
  const { status, body } = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' });
  expect([status, body.code]).toEqual([409, code]);
});

it.each([ABSENT, FOREIGN])('a workflow whose agent requires the MCP server %s is imported inactive', async (server) => {
  const agents = [{ ...itemOf('agent'), id: crypto.randomUUID(), required_mcp_servers: [server] }];
  const workflows = [{ agent_id: agents[0]?.id, title: 'of an incomplete agent' }];
  const result = await here.alice.ok(here.alice.post('/api/import', { version: '1.0', agents, workflows }), 201);
  expect(result.workflows.warnings[0].message).toContain('required_mcp_servers: ');
  expect((await here.alice.get(`/api/workflows/${result.workflows.ids[0]}`)).body.status).toBe('inactive');
});

it('a reference with as many such ids as a list may have is reported shortly', async () => {
  const skill_ids = Array.from({ length: 1_000 }, (_, index) => `${index}`);
  const result = await here.alice.ok(here.alice.post('/api/workflows/import', { items: [{ agent_id, skill_ids }] }), 201);
  expect(result.created).toBe(1);
  expect(result.errors).toEqual([expect.stringMatching(/^workflows\.0: .*skill_ids: 0, 1, .* 19 and 980 more/)]);
});

it('is reported with the other such references of its item, in one entry for each item', async () => {
  const wrong = {
    provider_id: FOREIGN,
    custom_tool_ids: [FOREIGN, 'x'],
    knowledge_source_ids: [FOREIGN],
    required_mcp_servers: ['y'],
  };
  const items = [{ ...itemOf('agent'), ...wrong }, itemOf('agent'), { ...itemOf('agent'), custom_tool_ids: ['z'] }];
  const { created, errors } = await here.alice.ok(here.alice.post('/api/agents/import', { items }), 201);
  expect(created).toBe(3);
  expect(errors).toEqual([expect.stringMatching(/^agents\.0 /), expect.stringMatching(/^agents\.2 .*custom_tool_ids: z/)]);
  for (const [name, value] of Object.entries(wrong)) expect(errors[0]).toContain(`${name}: ${[value].flat().join(', ')}`);
});

describe('ids of another product within a bundle', () => {
  const bundled = (more: object = {}) => ({
    version: '1.0',
    skills: [{ id: FOREIGN, name: `followed ${++made}`, instructions: 'x' }],
    guardrails: [{ id: FOREIGN, name: `followed ${++made}`, guardrail_type: 'prompt', config: { max_length: 9 } }],
    knowledge_sources: [{ id: FOREIGN, name: `followed ${++made}`, source_type: 'builtin' }],
    agents: [{ id: FOREIGN, name: `followed ${++made}`, knowledge_source_ids: [FOREIGN] }],
    workflows: [{ id: FOREIGN, agent_id: FOREIGN, skill_ids: [FOREIGN, FOREIGN], guardrail_ids: [FOREIGN] }],
    scheduled_agents: [{ id: FOREIGN, name: `followed ${++made}`, workflow_id: FOREIGN, prompt: 'x', cron: '@daily' }],
    ...more,
  });
  const imported = async (body: object) => here.alice.ok(here.alice.post('/api/import', body), 201);

  it('lead to the new records', async () => {
    const result = await imported(bundled());
    const parts = Object.values<any>(result).map(({ created, errors, warnings }) => [created, errors, warnings]);
    expect(parts).toEqual(Array.from({ length: 6 }, () => [1, [], []]));
    const idOf = (part: string) => result[part].ids[0] as string;
    expect((await here.alice.get(`/api/agents/${idOf('agents')}`)).body.knowledge_source_ids).toEqual([
      idOf('knowledge_sources'),
    ]);
    expect((await here.alice.get(`/api/workflows/${idOf('workflows')}`)).body).toMatchObject({
      ...{ agent_id: idOf('agents'), skill_ids: [idOf('skills')], guardrail_ids: [idOf('guardrails')], status: 'active' },
    });
    const schedule = (await here.alice.get(`/api/scheduled-agents/${idOf('scheduled_agents')}`)).body;
    expect(schedule.workflow_id).toBe(idOf('workflows'));
  });

  it('lead nowhere if the record was not created, or if two items have the id', async () => {
    const name = 'known';
    const failed = await imported(bundled({ agents: [{ id: FOREIGN, name }] }));
    expect(failed.workflows).toMatchObject({ created: 0, errors: [expect.stringContaining(`No agent with id ${FOREIGN}`)] });
    const twice = bundled({
      agents: [
        { ...itemOf('agent'), id: FOREIGN },
        { ...itemOf('agent'), id: FOREIGN },
      ],
    });
    expect((await imported(twice)).workflows).toMatchObject({ created: 0, errors: [expect.stringContaining(FOREIGN)] });
  });
});
