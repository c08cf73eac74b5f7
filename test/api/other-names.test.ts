import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { getSpellings } from '../../src/contracts/common.ts';
import type { Endpoint } from '../../src/contracts/endpoint.ts';
import { GUARDRAIL_TYPES } from '../../src/contracts/guardrails.ts';
import { WORKFLOW_STATUSES } from '../../src/contracts/workflows.ts';
import { declaredEndpoints } from '../support/contract/endpoints.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';
import { type World, worldOf } from './contract-world.ts';

let here: TestInstallation;
let world: World;
beforeAll(async () => {
  here = await startTestInstallation();
  world = await worldOf(here);
});
afterAll(() => here.stop());

interface Aliased {
  title: string;
  path: string;
  own: string;
  names: string[];
}

const shapeIn = ({ body }: Endpoint) => (body instanceof z.ZodObject ? (body.shape as Record<string, z.ZodType>) : {});

/** Each field that other clients know under other names, of each resource that can be changed. */
const ALIASED: Aliased[] = (await declaredEndpoints())
  .filter(({ method }) => method === 'PUT' || method === 'PATCH')
  .flatMap((endpoint) =>
    Object.entries(shapeIn(endpoint)).flatMap(([own, field]) => {
      const { names } = getSpellings(field);
      return names ? [{ title: `${own} of ${endpoint.path}`, path: endpoint.path, own, names }] : [];
    }),
  );

const CONFIGS: { [type in (typeof GUARDRAIL_TYPES)[number]]: object } = {
  prompt: { forbidden_patterns: ['secret'] },
  request: { json_schema: { type: 'object', required: ['a'] } },
  output: { pii_detection: true, action: 'block' },
};

/** New records of a path, one of each kind, with a value for every field that has other names. */
const RECORDS: Record<string, () => object[]> = {
  '/api/guardrails/{id}': () =>
    GUARDRAIL_TYPES.map((guardrail_type) => ({
      name: `known ${guardrail_type}`,
      guardrail_type,
      config: CONFIGS[guardrail_type],
    })),
  '/api/knowledge-items/{id}': () => [{ source_id: world.ids['knowledge-sources'], name: 'known item', content: 'Some text.' }],
};

/** The record, with the text that is read separately. */
async function readOf(path: string): Promise<Record<string, any>> {
  const record = await here.alice.ok(here.alice.get(path));
  const content = await here.alice.get(`${path}/content`);
  return content.status === 200 ? { ...record, ...content.body } : record;
}

async function madeOf(path: string): Promise<string[]> {
  const made = (RECORDS[path]?.() ?? []).map((body) => here.alice.ok(here.alice.post(path.replace('/{id}', ''), body), 201));
  return (await Promise.all(made)).map(({ id }) => path.replace('{id}', id));
}

const without = (record: Record<string, any>, names: string[]) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

describe.each(ALIASED.map((aliased) => [aliased.title, aliased] as const))('%s', (_, { path, own, names }) => {
  it('is lost by no client that reads and writes only the other names', async () => {
    const made = await madeOf(path);
    expect(made).not.toEqual([]);
    for (const one of made) {
      const before = await readOf(one);
      expect(names.map((name) => before[name]).filter((value) => value !== null)).toEqual([before[own]]);
      const saved = await here.alice.put(one, without(before, [own]), { prefer: 'handling=strict' });
      expect([saved.status, saved.body.errors]).toEqual([200, undefined]);
      expect((await readOf(one))[own]).toEqual(before[own]);
      const renamed = await here.alice.ok(here.alice.put(one, { ...without(before, [own]), name: `${before.name} again` }));
      expect(renamed.warnings).toBeUndefined();
      expect((await readOf(one))[own]).toEqual(before[own]);
      await here.alice.ok(here.alice.send('DELETE', one), 204);
    }
  });

  it('takes the edit of a client that sends back everything it has read, or refuses it', async () => {
    const made = await madeOf(path);
    expect(made).not.toEqual([]);
    for (const one of made) {
      const before = await readOf(one);
      const other = names.find((candidate) => before[candidate] !== null) as string;
      const edited = typeof before[own] === 'string' ? 'Other text.' : { ...before[own], ...OTHERWISE[before.guardrail_type] };
      // Where the record itself does not show the field, nothing shows which of the two was edited.
      const shows = own in (await here.alice.ok(here.alice.get(one)));
      const edits = [other, own].slice(0, shows ? 2 : 1);
      expect(edits).toContain(other);
      for (const name of edits) {
        const was = await readOf(one);
        const saved = await here.alice.put(one, { ...was, [name]: name === other ? edited : before[own] });
        expect([name, saved.status]).toEqual([name, shows ? 200 : 422]);
        const is = await readOf(one);
        expect(is[own]).toEqual(shows ? (name === other ? edited : before[own]) : was[own]);
      }
      const torn = await here.alice.put(one, {
        [own]: edited,
        [other]: typeof edited === 'string' ? 'Third.' : { action: 'warn' },
      });
      expect([torn.status, torn.body.errors?.[0]?.message]).toEqual([422, expect.stringContaining('are one field')]);
      expect((await readOf(one))[own]).toEqual(before[own]);
      await here.alice.ok(here.alice.send('DELETE', one), 204);
    }
  });
});

describe.each(
  GUARDRAIL_TYPES.flatMap((type) => GUARDRAIL_TYPES.filter((other) => other !== type).map((other) => [type, other] as const)),
)('a guardrail of the type %s', (guardrail_type, other) => {
  const guard = { name: `kept ${guardrail_type} ${other}`, guardrail_type };

  it(`keeps its rules when it is sent those of the type ${other}`, async () => {
    const path = `/api/guardrails/${(await here.alice.ok(here.alice.post('/api/guardrails', { ...guard, config: CONFIGS[guardrail_type] }), 201)).id}`;
    const { config } = (await here.alice.get(path)).body;
    const refused = await here.alice.put(path, { [`${other}_config`]: CONFIGS[other] });
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [
        {
          path: `${other}_config`,
          message: `\`${other}_config\` is for another kind of record; send \`${guardrail_type}_config\``,
        },
      ],
    ]);
    for (const nothing of [{}, null]) await here.alice.ok(here.alice.put(path, { [`${other}_config`]: nothing }));
    expect((await here.alice.get(path)).body.config).toEqual(config);
    await here.alice.ok(here.alice.send('DELETE', path), 204);
  });

  it(`is not created with rules of the type ${other}, or under a name that is nearly right`, async () => {
    for (const name of [`${other}_config`, `${guardrail_type.slice(1)}_config`]) {
      const refused = await here.alice.post('/api/guardrails', { ...guard, [name]: CONFIGS[guardrail_type] });
      expect([name, refused.status, refused.body.errors?.[0]?.message]).toEqual([
        name,
        422,
        expect.stringContaining(`\`${guardrail_type}_config\``),
      ]);
    }
  });
});

it('a guardrail keeps its rules when a name of its configuration is nearly right', async () => {
  const path = `/api/guardrails/${(await here.alice.ok(here.alice.post('/api/guardrails', { name: 'near', guardrail_type: 'prompt', config: CONFIGS.prompt }), 201)).id}`;
  for (const name of ['prompt_confg', 'promt_config', 'confg']) {
    const refused = await here.alice.put(path, { [name]: { max_length: 3 } });
    expect([name, refused.status, refused.body.errors?.[0]?.path]).toEqual([name, 422, name]);
  }
  expect((await here.alice.get(path)).body.config.forbidden_patterns).toEqual(['secret']);
});

const OTHERWISE: Record<string, object> = {
  prompt: { max_length: 7 },
  request: { json_schema: { type: 'array' } },
  output: { max_length: 7 },
};

it('a workflow is switched by whichever of status and enabled a client has changed', async () => {
  const path = `/api/workflows/${(await here.alice.ok(here.alice.post('/api/workflows', { agent_id: world.ids.agents }), 201)).id}`;
  for (const change of [{ enabled: false }, { enabled: true }, { status: 'inactive' }, { status: 'active' }]) {
    const saved = await here.alice.ok(here.alice.put(path, { ...(await here.alice.get(path)).body, ...change }));
    const on = Object.values(change)[0] === true || change.status === 'active';
    expect([change, saved.enabled, saved.status]).toEqual([change, on, on ? 'active' : 'inactive']);
  }
});

describe('the status of a workflow', () => {
  const RUN_STATUSES = WORKFLOW_STATUSES.filter((status) => status !== 'active' && status !== 'inactive');
  const put = async (body: object) => {
    const id = await here.workflow();
    return {
      id,
      answer: await here.alice.put(`/api/workflows/${id}`, body),
      read: async () => (await here.alice.get(`/api/workflows/${id}`)).body,
    };
  };

  it.each([...RUN_STATUSES, 'paused'])('cannot be set to %s, and the refusal says to what it can', async (status) => {
    const { answer, read } = await put({ status, title: 'changed' });
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'status', message: expect.stringMatching(/send active or inactive/i) }] },
    });
    for (const other of RUN_STATUSES.filter((one) => one !== status)) expect(answer.body.detail).not.toContain(other);
    expect(await read()).toMatchObject({ status: 'active', title: null });
  });

  it('is taken back as it was read, while a run is in progress and after it', async () => {
    const end = Promise.withResolvers<void>();
    here.model.script(says('one two', { until: end.promise }));
    const id = await here.workflow();
    const path = `/api/workflows/${id}`;
    const task_id = await here.prompt(id);
    await until('the run is in progress', async () => (await here.alice.get(path)).body.status === 'running');
    const strict = { prefer: 'handling=strict' };
    const readAndSend = async () => {
      const { body } = await here.alice.get(path);
      return { body, status: (await here.alice.send('PUT', path, { body, headers: strict })).status };
    };
    // The run may log something between the two.
    await expect.poll(async () => (await readAndSend()).status).toBe(200);
    const { body: read } = await readAndSend();
    expect((await here.alice.put(path, { status: 'running' })).status).toBe(200);
    end.resolve();
    await here.ended(task_id);
    const { status, body } = await here.alice.put(path, { ...read, title: 'changed' });
    expect([status, body.status, body.title]).toEqual([200, 'completed', 'changed']);
  });
});
