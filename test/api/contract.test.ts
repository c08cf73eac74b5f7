import { setTimeout as wait } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listUndescribed } from '../support/contract/statuses.ts';
import { schemaReference } from '../support/database/schema-places.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { collectionOf, UNKNOWN, type World, worldOf } from './contract-world.ts';
import { INTERFACE, type Row, SETTLED } from './interface-rows.ts';

interface Operation {
  summary?: string;
  operationId?: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let here: TestInstallation;
let world: World;
let api: Description;
const ajv = new Ajv2020({ strict: false, validateFormats: false });

beforeAll(async () => {
  here = await startTestInstallation();
  world = await worldOf(here);
  api = (await here.anonymous.get('/openapi.json')).body as Description;
  ajv.addSchema(api, 'api');
});
afterAll(() => here.stop());

// The interface deletes what it has made, so it comes last.
const ROWS = [...SETTLED, ...INTERFACE];
const titled = (rows: Row[]) => rows.map((row) => [`${row.method} ${row.path}`, row] as const);
const owned = (row: Row) =>
  /^\/api\/(?:workflows|tasks|scheduled-agents|alerts|budgets|datasets|threads|keys)\/.*\{|\{session_id\}/.test(row.path);
const streams = ({ path }: Row) => /\/stream$|\/chat$|\/(?:ag-)?ui$/.test(path);
const uploads = ({ path }: Row) => path.endsWith('/upload');

/** The described operation; parameters may be named otherwise. */
function described(row: Row): { path: string; operation: Operation } | null {
  const bare = (path: string) => path.replaceAll(/\{\w+\}/g, '{}');
  const path = Object.keys(api.paths).find(
    (known) => bare(known) === bare(row.path) && row.method.toLowerCase() in (api.paths[known] ?? {}),
  );
  return path ? { path, operation: api.paths[path]?.[row.method.toLowerCase()] as Operation } : null;
}

const unknown = ({ path }: Row, id = UNKNOWN) => path.replaceAll(/\{\w+\}/g, id);

/** As any client should: a busy engine is asked again. */
async function sent(...request: Parameters<typeof sentOnce>) {
  for (let tries = 1; ; tries += 1) {
    const answer = await sentOnce(...request);
    if (answer.status !== 503 || tries === TRIES) return answer;
    await wait(1_000);
  }
}
const TRIES = 5;

function sentOnce(row: Row, path: string, { client = here.alice, body = world.bodyOf(row) as unknown } = {}) {
  if (!uploads(row)) return client.send(row.method, path, body === undefined ? {} : { body });
  const form = new FormData();
  const knowledge = collectionOf(row) === 'knowledge-items';
  if (knowledge) form.set('source_id', world.ids['knowledge-sources'] as string);
  form.set('file', new Blob(['def uploaded(a: int):\n    return a\n']), knowledge ? 'note.txt' : 'uploaded.py');
  return client.send(row.method, path, { body: form });
}

describe.each(titled(ROWS))('%s', (_, row) => {
  it('is mounted and described', () => {
    const found = described(row);
    expect(found, 'no such operation in /openapi.json').not.toBeNull();
    expect(found?.operation.summary).toBeTruthy();
    expect(found?.operation.operationId).toBeTruthy();
  });

  it('asks for a token, and for a good one', async () => {
    const { clientOf } = await import('../support/client.ts');
    for (const token of [null, 'not-a-token']) {
      const answer = await sent(row, unknown(row), { client: clientOf(here.url, token) });
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized', status: 401, request_id: expect.any(String) } });
    }
  });
});

describe.each(titled(ROWS.filter(({ path }) => path.includes('{') && !/stm\/|\/sessions$/.test(path))))('%s', (_, row) => {
  it.each([
    ['unknown', UNKNOWN],
    ['malformed', 'no-such-id'],
  ])('answers 404 for an %s id', async (_name, id) => {
    const answer = await sent(row, unknown(row, id));
    expect(answer).toMatchObject({ status: 404, body: { status: 404, code: 'not_found', detail: expect.any(String) } });
  });
});

describe.each(titled(ROWS.filter(owned)))('%s', (_, row) => {
  it('answers 403 for what belongs to someone else', async () => {
    const path = await world.pathOf(row);
    const answer = await sent(row, path, { client: here.bob });
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });
});

const resolved = (schema: Schema): Schema =>
  schema.$ref ? resolved(api.components.schemas[schema.$ref.split('/').at(-1) as string] as Schema) : schema;

/** Types that a field takes; none where it takes anything. */
function typesOf(schema: Schema): string[] {
  const { type, anyOf, enum: values } = resolved(schema);
  if (anyOf) return anyOf.flatMap(typesOf);
  return type ? [type].flat() : values ? ['string'] : [];
}

/** The limits of a field that is a number. */
function limitsOf([field, schema]: [string, Schema]): [string, number[]][] {
  const { minimum, maximum, anyOf = [] } = resolved(schema);
  const limits = [minimum, maximum].filter((limit) => limit !== undefined);
  return limits.length > 0 ? [[field, limits]] : anyOf.flatMap((part) => limitsOf([field, part]));
}

describe.each(titled(ROWS.filter((row) => row.method !== 'GET' && row.request !== '' && !uploads(row))))('%s', (_, row) => {
  it('answers 422 for each field of a wrong type, and names it', async () => {
    const schema = described(row)?.operation.requestBody?.content['application/json']?.schema;
    expect(schema, 'no described body').toBeTruthy();
    const { properties = {} } = resolved(schema as Schema);
    for (const [field, inner] of Object.entries(properties)) {
      const types = typesOf(inner);
      if (types.length === 0) continue;
      const wrong = types.includes('object') ? 5 : { wrong: true };
      const body = { ...world.bodyOf(row), [field]: wrong };
      const answer = await sent(row, await world.pathOf(row), { body });
      expect([field, answer.status, answer.body.code]).toEqual([field, 422, 'invalid_fields']);
      expect(answer.body.errors.some(({ path }: { path: string }) => path.split('.')[0] === field)).toBe(true);
    }
  });

  it('stores each number at its limits, or refuses it', async () => {
    const schema = described(row)?.operation.requestBody?.content['application/json']?.schema;
    const failed: unknown[] = [];
    for (const [field, limits] of Object.entries(resolved(schema as Schema).properties ?? {}).flatMap(limitsOf))
      for (const limit of limits) {
        const { status } = await sent(row, await world.pathOf(row), { body: { ...world.bodyOf(row), [field]: limit } });
        if (status === 500) failed.push([field, limit]);
      }
    expect(failed).toEqual([]);
  });

  it('answers 422 for a body that is no object, 400 for one that is no JSON', async () => {
    const path = await world.pathOf(row);
    expect((await sent(row, path, { body: [1] })).status).toBe(422);
    expect((await sent(row, path, { body: '{"a": ' })).status).toBe(400);
  });
});

/** The status that is right for a row without being its success: what it acts on is not in the state for it, or cannot be reached. */
const OTHERWISE: Record<string, number> = {
  'POST /api/workflows/{id}/halt': 409,
  'POST /api/tasks/{id}/stop': 409,
  // An earlier row failed to reach it.
  'GET /api/mcps/{id}/tools': 502,
  'POST /api/mcps/{id}/tools/refresh': 502,
  'POST /api/mcps/{id}/prompts': 502,
  'POST /api/mcps/{id}/prompts/fill': 502,
  'POST /api/mcps/{id}/sign-in': 502,
  // Nobody began it.
  'POST /api/mcps/sign-in': 409,
  // It has no address.
  'POST /api/alerts/{id}/test': 409,
  // For administrators.
  'GET /api/audit': 403,
  'GET /api/system': 403,
  'POST /api/models/catalogue': 403,
  'DELETE /api/models/catalogue': 403,
  // Nothing asks for the token of this world.
  'POST /api/tokens/{id}/grants': 409,
  'DELETE /api/tokens/{id}/grants/{grant_id}': 404,
};

/** A prompt of an earlier row may still run, and its workflow would have something to halt. */
const isIdle = async () =>
  !/running|waiting/.test((await here.alice.ok(here.alice.get(`/api/workflows/${world.ids.workflows}`))).status);

/** The described success; a repeated request with an Idempotency-Key is answered with 200 instead of 201. */
const successOf = (operation: Operation | undefined) =>
  Math.max(
    ...Object.keys(operation?.responses ?? {})
      .map(Number)
      .filter((status) => status < 300),
  );

describe.each(titled(ROWS.filter((row) => !streams(row))))('%s', (title, row) => {
  it('answers as it is described', async () => {
    const found = described(row);
    expect(found, 'no such operation in /openapi.json').not.toBeNull();
    await expect.poll(isIdle).toBe(true);
    const answer = await sent(row, await world.pathOf(row));
    const wanted = OTHERWISE[title] ?? (Number(/^\d{3}/.exec(row.response)?.[0] ?? 0) || successOf(found?.operation));
    expect(answer.status, JSON.stringify(answer.body)).toBe(wanted);
    const content = found?.operation.responses[String(answer.status)]?.content;
    if (answer.status === 204) return expect(answer.body).toBe('');
    const [type] = Object.keys(content ?? {});
    expect(answer.headers.get('content-type')).toContain(type);
    const pointer = [
      'paths',
      found?.path,
      row.method.toLowerCase(),
      'responses',
      String(answer.status),
      'content',
      type,
      'schema',
    ];
    const fits = ajv.compile({ $ref: schemaReference('api', pointer.map(String)) });
    fits(answer.body);
    expect(fits.errors ?? []).toEqual([]);
  });
});

const CHANGES = ['put', 'patch', 'delete'] as const;
const listConditional = () =>
  Object.entries(api.paths).flatMap(([path, operations]) =>
    CHANGES.filter((method) => operations[method] && hasTag(operations.get)).map((method) => [method, path] as const),
  );
/** True if the operation returns one JSON record, and so an ETag. */
const hasTag = (operation: Operation | undefined) => operation?.responses['304'] !== undefined;

it('declares If-Match for each operation that changes or deletes what GET of its path returns', () => {
  const missing = listConditional()
    .filter(([method, path]) => !('412' in (api.paths[path]?.[method]?.responses ?? {})))
    .map(([method, path]) => `${method.toUpperCase()} ${path}`);
  expect(missing).toEqual([]);
});

it('honours If-Match in each operation that declares it: a stale or foreign tag changes nothing, a fresh one or * succeeds', async () => {
  const faults: unknown[] = [];
  const declared = Object.entries(api.paths).flatMap(([path, operations]) =>
    [...CHANGES, 'post' as const]
      .filter((method) => '412' in (operations[method]?.responses ?? {}))
      .map((method) => [method, path] as const),
  );
  expect(declared.length).toBeGreaterThan(30);
  for (const [method, described_path] of declared) {
    const row = { method: method.toUpperCase(), path: described_path } as Row;
    for (const accepted of ['fresh', '*', 'one of several']) {
      const path = await world.pathOf(row);
      const item = path.replace(/\/(?:enable|disable)$|(?<=^\/api\/mcps\/[^/]+)\/tools$/, '');
      const read = () => here.alice.get(item);
      const condition = (tag: string) => ({
        body: world.bodyOf(row) ?? (method === 'delete' ? undefined : {}),
        headers: { 'if-match': tag },
      });
      const before = await read();
      const tag = before.headers.get('etag') as string;
      const other = (await here.alice.get(`/api/agents/${world.ids.agents}`)).headers.get('etag') as string;
      for (const stale of ['"stale"', `W/${tag}`, other === tag ? '"x"' : other, tag.slice(1, -1)]) {
        const refused = await here.alice.send(row.method, path, condition(stale));
        const after = await read();
        const code = refused.body.code ?? refused.body.error?.code;
        const outcome = [refused.status, code, after.status, after.headers.get('etag') === tag];
        if (`${outcome}` !== '412,changed_meanwhile,200,true') faults.push([row.method, path, stale, outcome]);
      }
      const given = { fresh: tag, '*': '*', 'one of several': `"stale", ${tag}` }[accepted] as string;
      const { status } = await here.alice.send(row.method, path, condition(given));
      // A caller who may not do it at all is refused once the tag is right.
      if (status >= 300 && status !== OTHERWISE[`${row.method} ${described_path}`])
        faults.push([row.method, path, accepted, status]);
    }
  }
  expect(faults).toEqual([]);
});

it('describes every status that it answered, and those that any request may be refused with', () => {
  expect(here.answers.statuses.size).toBeGreaterThan(ROWS.length);
  expect(listUndescribed(api, here.answers.statuses)).toEqual([]);
  const silent = Object.entries(api.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      (path.startsWith('/health')
        ? [400, 403, 421, 422]
        : [400, 401, 403, 421, 422, 429, 503, ...(method === 'get' ? [] : [408, 413, 415])]
      )
        .filter((status) => !(status in responses))
        .map((status) => `${method} ${path} ${status}`),
    ),
  );
  expect(silent).toEqual([]);
});

it('describes the two streams as such', () => {
  for (const row of ROWS.filter(streams))
    expect(Object.keys(described(row)?.operation.responses['200']?.content ?? {})).toEqual(['text/event-stream']);
});

it('mounts nothing under /api that is not described', () => {
  const ids = Object.values(api.paths).flatMap((operations) => Object.values(operations).map(({ operationId }) => operationId));
  expect(new Set(ids).size).toBe(ids.length);
});
