import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let agent_id: string;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
  agent_id = (await here.alice.ok(here.alice.post('/api/agents', { name: 'answers' }), 201)).id;
});
afterAll(() => here.stop());

const SUM = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] };
const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
const create = (output_schema: unknown) => here.alice.post('/api/workflows', { agent_id, output_schema });

describe('the output schema of a workflow', () => {
  it('is stored, changed and removed', async () => {
    const { id } = await here.alice.ok(create(SUM), 201);
    const read = async () => (await here.alice.ok(here.alice.get(`/api/workflows/${id}`))).output_schema;
    expect(await read()).toEqual(SUM);
    await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { max_turns: 9 }));
    expect(await read()).toEqual(SUM);
    await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { output_schema: { type: 'array' } }));
    expect(await read()).toEqual({ type: 'array' });
    await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { output_schema: null }));
    expect(await read()).toBeNull();
  });

  it.each<[string, unknown, RegExp]>([
    ['is not a schema', { type: 'objet' }, /Not a JSON Schema of draft 2020-12/],
    ['refers to another document', { $ref: 'https://example.com/x.json' }, /can't resolve reference/],
    ['is too long', { description: 'x'.repeat(32_000) }, /32000 characters/],
    ['is too deep', deep(33), /32 levels/],
    ['is a list', [SUM], /./],
  ])('is refused if it %s', async (_, schema, message) => {
    const { status, body } = await create(schema);
    expect([status, body.errors[0].path, body.errors[0].message]).toEqual([422, 'output_schema', expect.stringMatching(message)]);
    const { id } = await here.alice.ok(create(SUM), 201);
    expect((await here.alice.put(`/api/workflows/${id}`, { output_schema: schema })).status).toBe(422);
  });

  it('is exported and imported, and an import refuses the item with one that is not a schema', async () => {
    const { id } = await here.alice.ok(create(SUM), 201);
    const file = await here.alice.ok(here.alice.get(`/api/workflows/${id}/export`));
    expect(file.items[0].output_schema).toEqual(SUM);
    const made = await here.alice.ok(here.alice.post('/api/workflows/import', file), 201);
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${made.ids[0]}`))).toMatchObject({ output_schema: SUM });
    const broken = { ...file, items: [{ ...file.items[0], output_schema: { type: 'objet' } }] };
    const refused = await here.alice.ok(here.alice.post('/api/workflows/import', broken), 201);
    expect(refused).toMatchObject({ created: 0, errors: [expect.stringContaining('output_schema: Not a JSON Schema')] });
  });
});
