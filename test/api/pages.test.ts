import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { type World, worldOf } from './contract-world.ts';

let here: TestInstallation;
let world: World;
const ROWS = 7;

beforeAll(async () => {
  here = await startTestInstallation();
  world = await worldOf(here);
});
afterAll(() => here.stop());

interface Operation {
  parameters?: { name: string; in: string }[];
}
type Paths = Record<string, { get?: Operation }>;

/** The lists with pages, by how a client asks for the next one. */
const BY_CURSOR = [
  ...['agents', 'skills', 'workflows', 'scheduled-agents', 'custom-tools', 'mcps', 'guardrails', 'knowledge-sources'],
  ...['knowledge-items', 'memories', 'tokens', 'providers', 'tasks', 'tasks/workflow/{workflow_id}'],
  ...['alerts', 'budgets', 'alerts/{id}/events', 'tokens/{id}/uses', 'workflows/{id}/versions'],
  ...['keys', 'datasets', 'datasets/{id}/items', 'datasets/{id}/runs', 'tasks/{id}/scores', 'threads', 'threads/{id}/messages'],
].map((name) => `/api/${name}`);
const BY_SKIP = ['/api/agents/{agent_id}/chat/sessions'];
const BY_TIME = ['/api/scheduled-agents/{id}/runs'];
/** Its rows are known by their item. */
const BY_ITEM = ['/api/datasets/{id}/runs/{run_id}/results'];

/** Each of its rows has a number, and a page begins after a row. */
const BY_PLACE = ['/v1/conversations/{id}/items'];

/** Its rows cannot be given another time, nor deleted: test/api/audit.test.ts. */
const APPENDED = ['/api/audit'];

/** Its rows are of runs that wait: test/temporal/inbox.test.ts. */
const WAITING = ['/api/inbox'];

const USES = '/api/tokens/{id}/uses';
const ALERT_EVENTS = '/api/alerts/{id}/events';
const VERSIONS = '/api/workflows/{id}/versions';
let turns = 100;
const MESSAGES = '/api/threads/{id}/messages';
const EVALUATIONS = '/api/datasets/{id}/runs';

/** Parts of a record: what makes one, and where its moment is. */
const PARTS: Record<string, { body: object; moment: [table: string, column: string] }> = {
  '/api/datasets/{id}/items': { body: { prompt: 'x' }, moment: ['dataset_items', 'created_at'] },
  '/api/tasks/{id}/scores': { body: { value: 1 }, moment: ['task_scores', 'created_at'] },
};

const newEvaluation = async () =>
  (
    await here.sql(`INSERT INTO evaluations (id, dataset_id, workflow_id, definition_hash, graders, effects, parallel, status, items, created_by, owner_login)
      VALUES ('${uuid()}', '${world.ids.datasets}', '${world.ids.workflows}', 'h', '[]', 'stub', 1, 'halted', 0, 'local:alice', 'alice') RETURNING id`)
  )[0].id as string;

async function create(path: string): Promise<void> {
  if (path === USES) {
    const { name } = await here.alice.ok(here.alice.get(`/api/tokens/${world.ids.tokens}`));
    await here.sql(`INSERT INTO token_uses (id, token_name, principal, purpose, granted, resource_kind, resource_id, resource_name, destination_label)
      VALUES ('${uuid()}', '${name}', 'local:alice', 'mcp', true, 'mcp_server', '${uuid()}', 'tools', 'https://tools.example')`);
  } else if (path === ALERT_EVENTS) {
    await here.sql(`INSERT INTO alert_events (id, alert_id, state, value, threshold, muted)
      VALUES ('${uuid()}', '${world.ids.alerts}', 'firing', 2, 1, false)`);
  } else if (path === VERSIONS) {
    await here.alice.ok(here.alice.put(`/api/workflows/${world.ids.workflows}`, { max_turns: ++turns }));
  } else if (path === MESSAGES) await here.alice.ok(here.alice.post(placed(path), { message: 'x' }), 202);
  else if (path === EVALUATIONS) await newEvaluation();
  else if (PARTS[path]) await here.alice.ok(here.alice.post(placed(path), PARTS[path].body), 201);
  else if (path.startsWith('/api/tasks')) await here.ended(await here.prompt(world.ids.workflows as string));
  else {
    const body = world.bodyOf({ section: '', method: 'POST', path, request: '', response: '' });
    await here.alice.ok(here.alice.post(path, body), 201);
  }
}

/** The column that all rows of a list are given the same moment in. */
function momentOf(path: string): [table: string, column: string] {
  const collection = path.split('/')[2] as string;
  if (path === USES) return ['token_uses', 'used_at'];
  if (path === ALERT_EVENTS) return ['alert_events', 'at'];
  if (path === VERSIONS) return ['workflow_versions', 'created_at'];
  if (path === MESSAGES) return ['thread_messages', 'created_at'];
  if (path === EVALUATIONS) return ['evaluations', 'created_at'];
  if (PARTS[path]) return PARTS[path].moment;
  const table =
    { mcps: 'mcp_servers', tokens: 'stored_tokens', keys: 'service_keys' }[collection] ?? collection.replace('-', '_');
  return [table, 'created_at'];
}

const placed = (path: string) =>
  path.replace('{workflow_id}', world.ids.workflows as string).replace('{id}', world.ids[path.split('/')[2]!] as string);

interface Item {
  id: string;
}

/** Follows the links of a list to its end. */
async function followed(first: string): Promise<{ ids: string[]; totals: Set<string | null> }> {
  const ids: string[] = [];
  const totals = new Set<string | null>();
  for (let next: string | undefined = first; next; ) {
    const { body, headers } = await here.alice.get(next);
    ids.push(...(body as unknown as Item[]).map(({ id }) => id));
    totals.add(headers.get('x-total-count'));
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    expect(ids.length).toBeLessThan(1_000);
  }
  return { ids, totals };
}

it('knows every list of the API that has pages', async () => {
  const { paths } = (await here.anonymous.get('/openapi.json')).body as unknown as { paths: Paths };
  const paged = Object.entries(paths).filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'limit'));
  expect(paged.map(([path]) => path).sort()).toEqual(
    [...BY_CURSOR, ...BY_ITEM, ...BY_SKIP, ...BY_TIME, ...BY_PLACE, ...APPENDED, ...WAITING].sort(),
  );
  const withCursor = paged.filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'cursor'));
  expect(withCursor.map(([path]) => path).sort()).toEqual([...BY_CURSOR, ...BY_ITEM, ...APPENDED, ...WAITING].sort());
});

describe.each(BY_PLACE)('%s', (path) => {
  it.each(['asc', 'desc'])('gives each item once in order %s, also when one that was read is deleted', async (order) => {
    const items = Array.from({ length: ROWS }, (_, index) => ({ role: 'user', content: `item ${index}` }));
    const { id } = await here.alice.ok(here.alice.post('/v1/conversations', { items }));
    const list = path.replace('{id}', id);
    const pageAfter = (after: string | undefined, limit: number) =>
      here.alice.ok(here.alice.get(`${list}?order=${order}&limit=${limit}${after === undefined ? '' : `&after=${after}`}`));
    const { data } = await pageAfter(undefined, 100);
    const all = data.map((item: { id: string }) => item.id);
    const texts = data.map(({ content }: { content: { text: string }[] }) => content[0]?.text);
    expect(texts).toEqual((order === 'asc' ? items : items.toReversed()).map(({ content }) => content));
    for (const limit of [1, 2, 3, ROWS - 1, ROWS]) {
      const ids: string[] = [];
      for (let page: Record<string, any> = { has_more: true }; page.has_more; ) {
        const next = await pageAfter(ids.at(-1), limit);
        ids.push(...next.data.map((item: { id: string }) => item.id));
        // The last page says that it is, so that nobody asks for one that is empty.
        expect([next.data.length <= limit, next.has_more], `pages of ${limit}`).toEqual([true, ids.length < all.length]);
        page = next;
      }
      expect(ids, `pages of ${limit}`).toEqual(all);
    }
    expect((await here.alice.send('DELETE', `${list}/${all[0]}`, {})).status).toBe(200);
    expect((await pageAfter(all[1], 100)).data.map((item: { id: string }) => item.id)).toEqual(all.slice(2));
  });
});

describe.each(BY_CURSOR)('%s', (path) => {
  it('gives each row once, newest first, when all were made in the same moment', async () => {
    here.model.always(says('ok'));
    for (let made = 0; made < ROWS; made += 1) await create(path);
    const [table, column] = momentOf(path);
    await here.sql(`UPDATE ${table} SET ${column} = (SELECT max(${column}) FROM ${table})`);
    const list = placed(path);
    const { ids: all } = await followed(`${list}?limit=1000`);
    expect(all.length).toBeGreaterThanOrEqual(ROWS);
    expect(all).toEqual([...all].sort().reverse());
    for (const limit of [1, 2, 3, all.length - 1, all.length]) {
      const { ids, totals } = await followed(`${list}?limit=${limit}`);
      expect(ids, `pages of ${limit}`).toEqual(all);
      expect([...totals]).toEqual([String(all.length)]);
    }
  });

  it('keeps its place when rows come and go between two pages', async () => {
    const list = placed(path);
    const before = (await followed(`${list}?limit=1000`)).ids;
    const first = await here.alice.get(`${list}?limit=2`);
    const [, next] = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? [];
    await create(path);
    const { ids: rest } = await followed(next as string);
    expect([...(first.body as unknown as Item[]).map(({ id }) => id), ...rest]).toEqual(before);
  });
});

it('gives each chat session once, when all were made in the same moment', async () => {
  here.model.always(says('ok'));
  const path = `/api/agents/${world.ids.agents}/chat`;
  for (let made = 0; made < ROWS; made += 1) expect((await here.alice.post(path, { message: 'Hello' })).status).toBe(200);
  await here.sql(`UPDATE threads SET created_at = '2026-01-31T12:00:00Z'`);
  const page = async (skip: number, limit: number) =>
    ((await here.alice.get(`${path}/sessions?skip=${skip}&limit=${limit}`)).body as unknown as Item[]).map(({ id }) => id);
  const all = await page(0, 1_000);
  expect(all.length).toBeGreaterThanOrEqual(ROWS);
  const pages: string[] = [];
  for (let skip = 0; skip < all.length; skip += 2) pages.push(...(await page(skip, 2)));
  expect(pages).toEqual(all);
});

it('gives each result of an evaluation once, the newest item first', async () => {
  for (let made = 0; made < ROWS; made += 1) await create('/api/datasets/{id}/items');
  const id = await newEvaluation();
  await here.sql(`INSERT INTO evaluation_results (evaluation_id, item_id)
    SELECT '${id}', id FROM dataset_items WHERE dataset_id = '${world.ids.datasets}'`);
  const items: string[] = [];
  for (let next: string | undefined = `${placed(EVALUATIONS)}/${id}/results?limit=2`; next; ) {
    const { body, headers } = await here.alice.get(next);
    items.push(...(body as unknown as { item_id: string }[]).map(({ item_id }) => item_id));
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  expect(items.length).toBeGreaterThanOrEqual(ROWS);
  expect(items).toEqual([...new Set(items)].sort().reverse());
});

it('gives each due time of a schedule once', async () => {
  const id = world.ids['scheduled-agents'] as string;
  const due = Array.from({ length: ROWS }, (_, hour) => `('${id}', '2026-01-31T0${hour}:00:00Z', 'missed')`);
  await here.sql(`INSERT INTO schedule_fires (scheduled_agent_id, due_at, outcome) VALUES ${due.join(', ')}`);
  const page = async (query: string) =>
    ((await here.alice.get(`/api/scheduled-agents/${id}/runs?${query}`)).body as unknown as { due_at: string }[]).map(
      ({ due_at }) => due_at,
    );
  const all = await page('limit=1000');
  expect(all).toHaveLength(ROWS);
  const pages: string[] = [];
  for (let part = await page('limit=2'); part.length > 0; part = await page(`limit=2&before=${part.at(-1)}`)) pages.push(...part);
  expect(pages).toEqual(all);
});
