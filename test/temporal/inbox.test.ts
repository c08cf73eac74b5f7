import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type InboxItem, SHOWN_ARGUMENTS, SHOWN_PROMPT } from '../../src/contracts/inbox.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { reaches, toolOf } from '../support/runs/run-facts.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

type Client = TestInstallation['alice'];

const PAY = 'EFFECT = "write"\ndef pay(to: str) -> str:\n    return "paid " + to\n';
const LONG_PROMPT = `Pay both. ${'z'.repeat(SHOWN_PROMPT)}`;

async function listInbox(query: Record<string, string> = {}, client: Client = here.alice): Promise<InboxItem[]> {
  return (await client.ok(client.get(`/api/inbox?${new URLSearchParams(query)}`))) as unknown as InboxItem[];
}
const idsOf = (items: InboxItem[]) => items.map(({ task_id, call_id }) => `${task_id} ${call_id}`);

/** A workflow whose agent asks before it calls its tool, and one of Bob's with the same agent. */
async function guarded() {
  const workflow_id = await here.workflow({ tools: [PAY], workflow: { title: 'Desk' } });
  const { agent_id, name } = await toolOf(here, workflow_id);
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  const { id: of_bob } = await here.bob.ok(here.bob.post('/api/workflows', { title: 'Of Bob', agent_id }), 201);
  return { workflow_id, agent_id, name, of_bob: of_bob as string };
}

async function waits(workflow_id: string, prompt: string, by: Client = here.alice): Promise<string> {
  const { task_id } = await by.ok(by.post(`/api/workflows/${workflow_id}/prompt`, { prompt }), 201);
  await reaches({ ...here, alice: by }, task_id, { status: 'waiting' });
  return task_id;
}

describe('what runs wait for', () => {
  let both: string;
  let spent: string;
  let shop: Awaited<ReturnType<typeof guarded>>;
  let poor: string;
  beforeAll(async () => {
    shop = await guarded();
    const long = 'y'.repeat(SHOWN_ARGUMENTS);
    here.model.script(asks({ name: shop.name, args: { to: 'ann' } }, { name: shop.name, args: { to: long }, id: 'b' }));
    both = await waits(shop.workflow_id, LONG_PROMPT);
    poor = await here.workflow({ workflow: { title: 'Poor', budget: { max_tokens: 7, on_exhausted: 'wait' } } });
    spent = await waits(poor, 'Spend');
    here.model.script(asks({ name: shop.name, args: { to: 'bob' } }));
    await waits(shop.of_bob, 'Not of Alice', here.bob);
    // Calls of one round begin to wait in any order.
    await here.sql(
      `UPDATE tool_calls SET waiting_since = waiting_since + interval '1 s' WHERE task_id = '${both}' AND call_id = '1-2'`,
    );
    await here.sql(`UPDATE tasks SET waiting_since = waiting_since + interval '7 s' WHERE id = '${spent}'`);
  });

  it('is listed once for each decision, the oldest first, with what one needs to decide', async () => {
    const items = await listInbox();
    expect(idsOf(items)).toEqual([`${both} 1-1`, `${both} 1-2`, `${spent} null`]);
    const { started_at } = await here.alice.ok(here.alice.get(`/api/tasks/${both}`));
    const { workflow_id, agent_id, name } = shop;
    const { waiting_since, ...first } = items[0]!;
    expect(first).toEqual({
      id: `${both}/1-1`,
      kind: 'approval',
      task_id: both,
      call_id: '1-1',
      tool: name,
      effect: 'write',
      arguments: '{"to":"ann"}',
      arguments_cut: false,
      question: null,
      record_behind: null,
      workflow_id,
      workflow_title: 'Desk',
      agent_id,
      agent_name: expect.any(String),
      prompt: LONG_PROMPT.slice(0, SHOWN_PROMPT),
    });
    expect(waiting_since > started_at).toBe(true);
    expect(items[1]).toMatchObject({ arguments: `{"to":"${'y'.repeat(SHOWN_ARGUMENTS - 7)}`, arguments_cut: true });
    expect(items[2]).toMatchObject({
      kind: 'budget',
      call_id: null,
      tool: null,
      effect: null,
      arguments: null,
      workflow_title: 'Poor',
    });
  });

  it.each([
    ['kind', () => ({ kind: 'budget' }), [2]],
    ['another kind', () => ({ kind: 'question' }), []],
    ['run', () => ({ task_id: spent }), [2]],
    ['workflow', () => ({ workflow_id: poor }), [2]],
    ['agent', () => ({ agent_id: shop.agent_id }), [0, 1]],
    ['tool', () => ({ tool: shop.name }), [0, 1]],
    ['a part of the name of a tool', () => ({ tool: shop.name.slice(1, -1).toUpperCase() }), [0, 1]],
    ['another tool', () => ({ tool: `${shop.name}s` }), []],
  ])('is found by %s', async (_name, query, places) => {
    const all = idsOf(await listInbox());
    expect(idsOf(await listInbox(query()))).toEqual(places.map((place) => all[place]));
  });

  it('is counted, and paged without gaps, also among decisions of one moment', async () => {
    await here.sql(`UPDATE tool_calls SET waiting_since = '2026-11-03T05:07:11Z' WHERE task_id = '${both}'`);
    const all = idsOf(await listInbox());
    const seen: string[] = [];
    let next: string | null = '/api/inbox?limit=1';
    while (next) {
      const page = await here.alice.get(next);
      expect(page.headers.get('x-total-count')).toBe('3');
      seen.push(...idsOf(page.body as unknown as InboxItem[]));
      next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? null;
    }
    expect(seen).toEqual(all);
    expect(await here.alice.get('/api/inbox?cursor=abc')).toMatchObject({ status: 422, body: { code: 'bad_cursor' } });
  });

  it('belongs to the person whose runs they are', async () => {
    expect(await listInbox({}, here.bob)).toMatchObject([{ kind: 'approval', arguments: '{"to":"bob"}' }]);
    expect(await listInbox({ workflow_id: shop.workflow_id }, here.bob)).toEqual([]);
  });

  it('leaves the list when it is decided, while the run still waits for another decision', async () => {
    here.model.script(says('Done.'));
    await here.alice.ok(here.alice.post(`/api/tasks/${both}/approvals/1-2`, { decision: 'deny' }));
    await expect.poll(async () => idsOf(await listInbox())).toEqual([`${both} 1-1`, `${spent} null`]);
    await here.alice.ok(here.alice.post(`/api/tasks/${both}/approvals/1-1`, { decision: 'approve' }));
    await expect.poll(async () => idsOf(await listInbox())).toEqual([`${spent} null`]);
    await here.alice.ok(here.alice.post(`/api/tasks/${spent}/stop`));
    await expect.poll(async () => idsOf(await listInbox())).toEqual([]);
    expect((await here.alice.get('/api/inbox')).headers.get('x-total-count')).toBe('0');
  });
});
