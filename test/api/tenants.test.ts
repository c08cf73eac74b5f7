import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Matrix, startMatrix } from '../support/tenants/attempts.ts';
import { listUnexpected } from '../support/tenants/awaiting.ts';
import { kindOf, POLICY, REFERENCES } from '../support/tenants/policy.ts';
import { bodyOf, foreignValue, pathOf, withField } from '../support/tenants/requests.ts';

/**
 * Every operation that is described, and every field of every request that refers to something, tried by another principal and by
 * an administrator. What is right is in policy.ts; an operation or a field that it does not know fails here.
 */
let m: Matrix;
beforeAll(async () => {
  m = await startMatrix();
}, 180_000);
afterAll(() => m.stop());

const MINUTES = 240_000;

it('knows each operation and each field', () => {
  const operations = m.operations.map(({ name }) => name);
  expect(operations.length).toBeGreaterThan(100);
  expect(operations.filter((name) => !POLICY.has(name))).toEqual([]);
  expect([...POLICY.keys()].filter((name) => !operations.includes(name))).toEqual([]);
  const fields = m.operations.flatMap((operation) =>
    [...operation.fields, ...operation.query].map((field) => ({ operation, field })),
  );
  expect(
    fields.filter(({ operation, field }) => !kindOf(operation, field)).map((one) => `${one.operation.name} ${one.field}`),
  ).toEqual([]);
});

const OWN = new Set(['own', 'open']);

it(
  'keeps from another principal what is in the path',
  async () => {
    const faults: string[] = [];
    for (const { name, path, method } of m.operations) {
      const rule = POLICY.get(name);
      const body = bodyOf(name, m.second);
      const { answer, faults: found } = await m.attempt(m.second, `${method} ${pathOf(path, m.first)}`, { body });
      if (!rule?.b.includes(answer.status)) faults.push(`${name}: answered ${answer.status} ${answer.text.split('\n').at(-1)}`);
      faults.push(...found.map((fault) => `${name}: ${fault}`));
    }
    expect(listUnexpected('path', faults)).toEqual([]);
  },
  MINUTES,
);

it(
  'lets an administrator change what is shared, and nothing that is private',
  async () => {
    const faults: string[] = [];
    for (const { name, path, method } of m.operations) {
      const rule = POLICY.get(name);
      if (!rule || OWN.has(rule.kind)) continue;
      const may_change = rule.kind === 'change' || rule.kind === 'expendable';
      const id = may_change ? await m.first.create(path.split('/')[2] as string) : undefined;
      const sending = { body: bodyOf(name, m.admin), may_change };
      const { answer, faults: found } = await m.attempt(m.admin, `${method} ${pathOf(path, m.first, id)}`, sending);
      if (!rule.admin.includes(answer.status))
        faults.push(`${name}: answered ${answer.status} ${answer.text.split('\n').at(-1)}`);
      faults.push(...found.map((fault) => `${name}: ${fault}`));
    }
    expect(listUnexpected('administrator', faults)).toEqual([]);
  },
  MINUTES,
);

it('reports to an administrator that something is in use, but not whose workflow uses it', async () => {
  const { answer, faults } = await m.attempt(m.admin, `DELETE /api/agents/${m.first.ids.agents}`);
  expect(answer.status).toBe(409);
  expect(listUnexpected('in use', faults)).toEqual([]);
});

const ALLOWED: Record<string, readonly number[]> = {
  shared: [200, 201],
  private: [403, 404, 422],
  door_model: [403, 404],
  response: [404],
  conversation: [404],
  token: [200, 201, 403, 422],
  unique: [200, 201, 409, 422],
  import_id: [201],
  memory_key: [403],
  // What is added there reaches the models of everyone who uses it.
  parent: [403],
  // The destination that it names is not the one that the other's resource has.
  granted: [404, 409, 422],
};

it(
  'opens nothing to a caller who names it in a field',
  async () => {
    const faults: string[] = [];
    for (const operation of m.operations) {
      const { name, path, method, fields } = operation;
      const own = POLICY.get(name)?.kind === 'own';
      for (const field of fields) {
        const kind = kindOf(operation, field);
        // What is inside a field that is a reference as a whole is tried with it.
        if (!kind || kind === 'plain' || (/[{[]/.test(field) && REFERENCES[field.split(/[{[]/)[0] as string])) continue;
        const body = bodyOf(name, m.second);
        if (body instanceof FormData) continue;
        const value = foreignValue(field, kind, { operation: path, other: m.first, own: m.second });
        const more = (CONTEXT[`${name} ${field}`] ?? CONTEXT[field])?.(m) ?? {};
        const sending = { body: { ...(withField(body, field, value) as object), ...more } };
        const { answer, faults: found } = await m.attempt(m.second, `${method} ${pathOf(path, m.second)}`, sending);
        const right = [...(ALLOWED[kind] ?? []), ...(own ? [] : [422])];
        if (!right.includes(answer.status))
          faults.push(`${name} ${field}: answered ${answer.status} ${answer.text.split('\n').at(-1)}`);
        faults.push(...found.map((fault) => `${name} ${field}: ${fault}`));
      }
    }
    expect(listUnexpected('fields', faults)).toEqual([]);
  },
  MINUTES,
);

const fallbacksTo = ({ first }: Matrix) => ({
  fallbacks: [{ on: ['quota'], provider_id: first.ids.listed_provider, model: 'm' }],
});

/** The other fields that a field needs to name another tenant's resource. */
const CONTEXT: Record<string, (matrix: Matrix) => object> = {
  'graders[].tool_id': ({ first }) => ({ graders: [{ type: 'python', tool_id: first.ids['custom-tools'] }] }),
  'fallbacks[].provider_id': fallbacksTo,
  'items[].fallbacks[].provider_id': (matrix) => ({ items: [{ name: 'falls', ...fallbacksTo(matrix) }] }),
  'agents[].fallbacks[].provider_id': (matrix) => ({ agents: [{ name: 'falls', ...fallbacksTo(matrix) }] }),
  key: ({ first }) => ({ agent_id: first.ids.agents, scope: 'agent', workflow_id: null }),
  // It takes the place of the agent.
  'POST /api/threads workflow_id': () => ({ agent_id: undefined }),
};

it(
  'reveals nothing to a caller who filters by it',
  async () => {
    const faults: string[] = [];
    for (const { name, path, query } of m.operations.filter(({ method }) => method === 'GET')) {
      for (const field of query) {
        const kind = REFERENCES[field];
        const value = kind ? foreignValue(field, kind, { operation: path, other: m.first, own: m.second }) : QUERIES[field];
        if (value === undefined) continue;
        const url = `${pathOf(path, m.second)}?${field}=${encodeURIComponent(String(value))}`;
        const { answer, faults: found } = await m.attempt(m.second, `GET ${url}`);
        if (answer.status >= 500 && answer.status !== 502) faults.push(`${name} ?${field}: answered ${answer.status}`);
        faults.push(...found.map((fault) => `${name} ?${field}: ${fault}`));
      }
    }
    expect(listUnexpected('filters', faults)).toEqual([]);
  },
  MINUTES,
);

const QUERIES: Record<string, string> = { q: 'canary', status: 'waiting', after: '0', limit: '1000' };

it('does not let a page of one be the page of another', async () => {
  const faults: string[] = [];
  for (const { name, path, query } of m.operations.filter(({ method, query }) => method === 'GET' && query.includes('cursor'))) {
    const page = await m.first.client.get(`${pathOf(path, m.first)}?limit=1`);
    const cursor = /[?&]cursor=([^&>]+)/.exec(page.headers.get('link') ?? '')?.[1];
    if (!cursor || !query) continue;
    const { faults: found } = await m.attempt(m.second, `GET ${pathOf(path, m.second)}?cursor=${cursor}`);
    faults.push(...found.map((fault) => `${name}: ${fault}`));
  }
  expect(listUnexpected('cursors', faults)).toEqual([]);
});

it(
  'ignores the version and the key of another tenant',
  async () => {
    const faults: string[] = [];
    for (const { name, path, method, headers } of m.operations) {
      const kind = POLICY.get(name)?.kind;
      if (headers.includes('If-Match') && kind !== 'own') {
        const etag = (await m.first.client.get(pathOf(path, m.first))).headers.get('etag') ?? '"x"';
        for (const tag of [etag, '"another"']) {
          const sending = { body: bodyOf(name, m.second), headers: { 'if-match': tag } };
          const { answer, faults: found } = await m.attempt(m.second, `${method} ${pathOf(path, m.first)}`, sending);
          // Everyone may see the version of a resource that everyone reads.
          if (![403, 404, ...(kind === 'change' || kind === 'administered' ? [412] : [])].includes(answer.status))
            faults.push(`${name} If-Match: answered ${answer.status}`);
          faults.push(...found.map((fault) => `${name} If-Match: ${fault}`));
        }
      }
      if (!headers.includes('Idempotency-Key') || kind !== 'own') continue;
      const headers_ = { 'idempotency-key': `key of the first for ${name}` };
      const url = `${method} ${pathOf(path, m.first)}`;
      await m.attempt(m.first, url, { body: bodyOf(name, m.first), headers: headers_, may_change: true });
      const { answer, faults: found } = await m.attempt(m.second, url, { body: bodyOf(name, m.second), headers: headers_ });
      if ((answer.status >= 300 && answer.status !== 502) || answer.replayed)
        faults.push(`${name} Idempotency-Key: answered ${answer.status} ${answer.text}`);
      faults.push(...found.map((fault) => `${name} Idempotency-Key: ${fault}`));
    }
    expect(listUnexpected('headers', faults)).toEqual([]);
  },
  MINUTES,
);
