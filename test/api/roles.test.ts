import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES_OF } from '../../src/domain/access.ts';
import { authorities } from '../../src/identity/roles.ts';
import { clientOf } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { UNKNOWN, type World, worldOf } from './contract-world.ts';
import { INTERFACE, type Row, SETTLED } from './interface-rows.ts';

let here: TestInstallation;
let world: World;
let operations: { method: string; path: string; scope: string | undefined }[];

beforeAll(async () => {
  here = await startTestInstallation();
  world = await worldOf(here);
  const { paths } = (await here.anonymous.get('/openapi.json')).body as { paths: Record<string, Record<string, any>> };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, scope: described['x-scope'] })),
  );
});
afterAll(() => here?.stop());

/** Operations other than GET that only read. A new one changes nothing, or belongs elsewhere. */
const SEARCHES = [
  ...['POST /api/custom-tools/validate', 'POST /api/guardrails/{id}/check'],
  ...['POST /api/knowledge-items/query', 'POST /api/memories/search', 'POST /api/scheduled-agents/preview'],
];

/** Their target is out of reach, or they stream. */
const OTHER_ANSWERS: Record<string, number> = {
  // For administrators.
  'GET /api/system': 403,
  'POST /api/mcps/{id}/tools/refresh': 502,
  'POST /api/mcps/{id}/prompts': 502,
  'POST /api/mcps/{id}/prompts/fill': 502,
};

describe('a viewer', () => {
  it('is refused every operation that is not declared to read, and answered every other one', async () => {
    const { key } = await here.alice.ok(here.alice.post('/api/keys', { name: 'of a viewer to be' }), 201);
    here.setting.config.VIEWER_SUBJECTS.push('local:alice');
    const refused = operations.filter(({ scope }) => scope !== 'read' && scope !== undefined);
    expect(refused.length).toBeGreaterThan(80);
    const answers = [here.alice, clientOf(here.url, key)].map(async (client) => {
      const me = await client.ok(client.get('/api/me'));
      expect(me).toMatchObject({ role: 'viewer', scopes: ['read'] });
      for (const { method, path, scope } of refused) {
        const { status, body } = await client.send(
          method,
          path.replaceAll(/\{\w+\}/g, UNKNOWN),
          method === 'GET' ? {} : { body: {} },
        );
        const sentence = body.detail ?? body.error?.message;
        expect([method, path, status, sentence]).toEqual([method, path, 403, expect.stringContaining(`the scope ${scope}`)]);
      }
    });
    await Promise.all(answers);
    const read = [...SETTLED, ...INTERFACE].filter(reads);
    expect(read.length).toBeGreaterThan(70);
    for (const row of read) {
      const body = world.bodyOf(row);
      const answer = await here.alice.send(row.method, await world.pathOf(row), row.method === 'GET' || !body ? {} : { body });
      const name = `${row.method} ${row.path}`;
      expect([name, answer.status]).toEqual([name, OTHER_ANSWERS[name] ?? 200]);
    }
  });
});

const bare = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');
const reads = (row: Row) =>
  !row.path.endsWith('/stream') &&
  operations.some(({ method, path, scope }) => method === row.method && bare(path) === bare(row.path) && scope === 'read');

it('every operation declares what it needs: reading is GET and searching, and nothing else', () => {
  const declared = operations.filter(({ scope }) => scope === 'read').map(({ method, path }) => `${method} ${path}`);
  expect(declared.filter((name) => !name.startsWith('GET ')).sort()).toEqual(SEARCHES);
  const gets = operations.filter(({ method, scope }) => method === 'GET' && scope !== 'read').map(({ path }) => path);
  expect(gets.sort()).toEqual(['/api/audit', '/health/live', '/health/ready']);
});

it('a role is that of the settings, and a key has no more than its owner', () => {
  const settings = {
    administrators: ['local:a'],
    viewers: ['local:a', 'local:v', 'local:e'],
    editors: ['local:e'],
    others: 'editor',
  };
  const of = authorities(settings as Parameters<typeof authorities>[0]);
  const person = (subject: string) => ({ provider: 'local', subject, login: subject });
  expect(['a', 'v', 'e', 'x'].map((name) => of(person(name)).role)).toEqual(['administrator', 'viewer', 'viewer', 'editor']);
  const closed = authorities({ ...settings, editors: ['local:y'], others: 'viewer' });
  expect(['x', 'y'].map((name) => closed(person(name)).role)).toEqual(['viewer', 'editor']);
  const service_key = { id: UNKNOWN, role: 'administrator' as const, scopes: SCOPES_OF.administrator, expires_at: null };
  expect(of({ ...person('x'), service_key })).toEqual({ role: 'editor', scopes: ['read', 'run', 'write', 'keys'] });
  expect(of({ ...person('v'), service_key })).toEqual({ role: 'viewer', scopes: ['read'] });
});
