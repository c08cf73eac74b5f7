import { expect, it } from 'vitest';
import { toChange } from '../../../src/api/service/written-changes.ts';
import type { Endpoint } from '../../../src/contracts/endpoint.ts';
import { declaredEndpoints } from '../../support/contract/endpoints.ts';
import { POLICY } from '../../support/tenants/policy.ts';

const nameOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>) => `${method} ${path}`;
const endpoints = await declaredEndpoints();
const shared = endpoints.filter((endpoint) => endpoint.shared).map(nameOf);

/** The collections that everybody may read, and only some may change. */
const collections = [...POLICY]
  .filter(([name, { kind }]) => kind === 'read' && /^GET \/api\/[\w-]+\/\{id\}$/.test(name))
  .map(([name]) => name.split('/')[2]!);

it('everybody learns of each change of a record that everybody may read', () => {
  const changing = [...POLICY].filter(([name, { kind }]) => kind === 'change' && collections.includes(name.split('/')[2]!));
  const creating = collections.map((collection) => `POST /api/${collection}`);
  expect(changing.length).toBeGreaterThan(16);
  expect([...changing.map(([name]) => name), ...creating].filter((name) => !shared.includes(name))).toEqual([]);
});

it('nobody learns of a change of anything else but those who may read it', () => {
  const others = shared.filter((name) => !collections.includes(name.split('/')[2]!));
  expect(others).toEqual(['POST /api/models/catalogue', 'DELETE /api/models/catalogue']);
  const parts = shared.filter((name) => POLICY.get(name)?.kind === 'private' || POLICY.get(name)?.kind === 'hidden');
  expect(parts).toEqual([]);
});

const request = { caller: { key: 'ann' }, params: { id: 'one', call_id: 'two' } } as never;
const done = { status: 200, made_id: 'made' };

it.each<[string, Parameters<typeof toChange>[0], object, typeof done, object | null]>([
  [
    'changes a record',
    { method: 'PUT', path: '/api/tokens/{id}', access: 'write' },
    request,
    done,
    { kind: 'tokens', id: 'one', owner: 'ann' },
  ],
  [
    'changes a shared record',
    { method: 'PUT', path: '/api/agents/{id}', access: 'write', shared: true },
    request,
    done,
    { kind: 'agents', id: 'one', owner: null },
  ],
  [
    'creates a record',
    { method: 'POST', path: '/api/keys', access: 'keys' },
    { caller: { key: 'ann' }, params: {} },
    done,
    { kind: 'keys', id: 'made', owner: 'ann' },
  ],
  [
    'decides',
    { method: 'POST', path: '/api/tasks/{id}/approvals/{call_id}', access: 'run' },
    request,
    done,
    { kind: 'tasks', id: 'one', owner: 'ann' },
  ],
  ['is refused', { method: 'PUT', path: '/api/tokens/{id}', access: 'write' }, request, { ...done, status: 400 }, null],
  [
    'is nearly refused',
    { method: 'PUT', path: '/api/tokens/{id}', access: 'write' },
    request,
    { ...done, status: 399 },
    { kind: 'tokens', id: 'one', owner: 'ann' },
  ],
  ['searches', { method: 'POST', path: '/api/memories/search', access: 'read' }, request, done, null],
  ['reads the audit', { method: 'GET', path: '/api/audit', access: 'audit' }, request, done, null],
  ['prompts as OpenAI does', { method: 'POST', path: '/v1/responses', access: 'run' }, request, done, null],
])('a request that %s', (_, endpoint, from, answer, change) => {
  expect(toChange(endpoint, from as never, answer)).toEqual(change);
});
