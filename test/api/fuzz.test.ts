import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { UNKNOWN, type World, worldOf } from './contract-world.ts';
import { INTERFACE, type Row, SETTLED } from './interface-rows.ts';

let here: TestInstallation;
let world: World;
beforeAll(async () => {
  here = await startTestInstallation();
  world = await worldOf(here);
});
afterAll(() => here.stop());

const ROWS = [...INTERFACE, ...SETTLED].filter(
  ({ method, path, request }) => method !== 'GET' && request !== '' && !/upload$|\/chat$/.test(path),
);

/** What a careless or hostile client puts where a value belongs. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(null, '', ' ', '\u0000', '\uD800', 'x'.repeat(5_000), -1, 0, 1e308, 0.5, true, [], {}, [null], {
    a: { b: [] },
  }),
  fc.constantFrom<unknown>(
    UNKNOWN,
    'no-id',
    '../../etc/passwd',
    "'; DROP TABLE agents; --",
    '{{token:x}}',
    '%00',
    '2020-01-01T00:00:00Z',
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

const bodies = (row: Row) => {
  const valid = (world.bodyOf(row) ?? {}) as Record<string, unknown>;
  const field = fc.oneof(
    fc.constantFrom(...Object.keys(valid), 'tags', 'config', 'metadata', 'ttl', 'id'),
    fc.string({ maxLength: 20 }),
  );
  const changed = fc.array(fc.tuple(field, odd), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 5, arbitrary: changed.map((changes) => ({ ...valid, ...Object.fromEntries(changes) })) },
    { weight: 1, arbitrary: odd },
  );
};

/** Refusals are fine, and a server elsewhere may be out of reach; nothing may fail inside the service. */
it.each(ROWS.map((row) => [`${row.method} ${row.path}`, row] as const))('%s answers no body with a 500', async (_, row) => {
  const path = await world.pathOf(row);
  const send = async (body: unknown) => {
    const answer = await here.alice.send(row.method, path, { body: JSON.stringify(body) });
    expect(answer.status, JSON.stringify({ body, answer: answer.body })).not.toBe(500);
    if (answer.status >= 400)
      expect(answer.body).toMatchObject({ status: answer.status, code: expect.any(String), detail: expect.any(String) });
  };
  await fc.assert(fc.asyncProperty(bodies(row), send), { numRuns: 25 });
});

const LISTS = [...INTERFACE, ...SETTLED].filter(
  ({ method, path }) => method === 'GET' && !path.includes('{') && !path.endsWith('/export'),
);

it.each(LISTS.map(({ path }) => [path]))('%s answers no query with a 500', async (path) => {
  const name = fc.constantFrom(
    'limit',
    'cursor',
    'q',
    'tag',
    'tags',
    'agent_id',
    'source_id',
    'scope',
    'status',
    'since',
    'skip',
    'provider_id',
  );
  const text = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.constantFrom('-1', '1e9', '%', '_', "'", '\u0000', UNKNOWN, 'AAAA', ','),
  );
  const query = fc.array(fc.tuple(name, text), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(query, async (pairs) => {
      const answer = await here.alice.get(`${path}?${new URLSearchParams(pairs)}`);
      expect(answer.status, JSON.stringify({ pairs, answer: answer.body })).not.toBe(500);
    }),
    { numRuns: 25 },
  );
});
