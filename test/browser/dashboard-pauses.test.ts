import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import * as z from 'zod';
import { describeInBrowser, it } from '../support/browser/browser.ts';
import { signInAsAlice } from '../support/browser/dashboard.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { type Asked, asks, hangs, says } from '../support/peers/model-server.ts';
import { parkBehind } from '../support/runs/park-behind.ts';
import { openShop, paidIn } from '../support/runs/paying.ts';
import { reaches } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

/** What a button sends, and what it leaves on record. */
interface Decision {
  fill?(panel: Locator): Promise<void>;
  /** The path of the request after that of the task; a decision about a call has the call's id at the end. */
  path: string;
  body: object;
  /** The record of the call that was decided. */
  call?: object;
  /** The task after its end. */
  task?: object;
  /** How often the tool has run at last. */
  paid?: number;
}

interface Pause {
  buttons: Record<string, Decision>;
  /** Makes one run wait for a decision about each of these calls. */
  begin(calls: readonly string[]): Promise<Begun>;
  /** True if a decision is about the run, so that each button needs its own. */
  one_each?: boolean;
}

interface Begun {
  task_id: string;
  /** Lists the calls that took effect, as often as they did. */
  listPaid?(): Promise<string[]>;
}

let here: TestInstallation;
let folder: string;
let remote: Awaited<ReturnType<typeof startHttpMcpServer>>;
/** The orders that the remote server has paid; it answers when the gate opens. */
const paidRemotely: string[] = [];
const gate = Promise.withResolvers<void>();
beforeAll(async () => {
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none' } });
  folder = await mkdtemp(join(tmpdir(), 'perdura-pauses-'));
  remote = await startHttpMcpServer('remote', (mcp) => {
    const requestedSchema = { type: 'object' as const, properties: { seats: { type: 'integer' as const, title: 'Seats' } } };
    mcp.registerTool('book', { description: 'Books a journey' }, async (extra) => {
      const options = { timeout: 600_000, relatedRequestId: extra.requestId };
      const text = JSON.stringify(await mcp.server.elicitInput({ message: 'How many?', requestedSchema }, options));
      return { content: [{ type: 'text', text }] };
    });
    mcp.registerTool('pay', { inputSchema: { order: z.string() } }, async ({ order }) => {
      paidRemotely.push(order);
      await gate.promise;
      return { content: [{ type: 'text', text: `paid ${order}` }] };
    });
  });
});
afterAll(async () => {
  await here?.stop();
  await remote?.stop();
  await rm(folder, { recursive: true, force: true });
});

const toCalls = (name: string, calls: readonly string[]): Asked[] => calls.map((id) => ({ name, id, args: { order: id } }));
const stepsOf = async (task_id: string): Promise<Record<string, any>[]> =>
  (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as never;
const callsOf = async (task_id: string): Promise<Record<string, any>[]> =>
  (await stepsOf(task_id)).flatMap(({ tool_calls }) => tool_calls);
const wait = (task_id: string, status: string, calls: readonly string[]) =>
  until(
    `${calls.length} calls that are ${status}`,
    async () => (await callsOf(task_id)).filter((call) => call.status === status).length === calls.length,
    60_000,
  );
const orderIn = (line: string) => line.split(' ')[1]!;

/** Prompts a workflow that has the tools of the remote server; its model makes the calls. */
async function promptRemote(name: string, calls: readonly string[]): Promise<string> {
  const values = { name: here.unique('remote'), transport_type: 'http', connection_config: { url: remote.url } };
  const { id } = await here.alice.ok(here.alice.post('/api/mcps', values), 201);
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id] } });
  here.model.script(asks(...toCalls(name, calls)), says('Noted.'));
  return here.prompt(workflow_id);
}

/** Every kind of pause, with every button that it shows. */
const PAUSES: Record<string, Pause> = {
  'for an approval': {
    buttons: {
      Approve: {
        ...{ path: 'approvals', body: { decision: 'approve' }, paid: 1 },
        call: { status: 'done', failed: false, result: expect.stringContaining('paid approve'), decided_by: 'local:alice' },
      },
      Deny: {
        fill: (panel) => panel.getByLabel('Message to the model if you deny (optional)').fill('Too dear.'),
        ...{ path: 'approvals', body: { decision: 'deny', message: 'Too dear.' }, paid: 0 },
        call: { status: 'denied', result: expect.stringContaining('Too dear.'), decided_by: 'local:alice' },
      },
    },
    async begin(calls) {
      const { workflow_id, agent_id, name, place } = await openShop(here, folder);
      await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
      here.model.script(asks(...toCalls(name, calls)), says('Noted.'));
      const task_id = await here.prompt(workflow_id);
      await wait(task_id, 'waiting_approval', calls);
      return { task_id, listPaid: async () => (await paidIn(place)).map(orderIn) };
    },
  },
  'about calls whose server was lost': {
    buttons: {
      'Mark as done': {
        fill: (panel) => panel.getByLabel('Result, if you mark it as done').fill('{"receipt": 7}'),
        ...{ path: 'reconciliations', body: { decision: 'done', result: { receipt: 7 } }, paid: 1 },
        call: { status: 'done', failed: false, attempts: 1, result: expect.stringContaining('receipt') },
      },
      'Retry the call': {
        ...{ path: 'reconciliations', body: { decision: 'retry' }, paid: 2 },
        call: { status: 'done', failed: false, attempts: 2, result: expect.stringContaining('paid retry') },
      },
      'Mark as failed': {
        ...{ path: 'reconciliations', body: { decision: 'fail' }, paid: 1 },
        call: { status: 'done', failed: true, attempts: 1, result: expect.not.stringContaining('paid') },
      },
    },
    async begin(calls) {
      const task_id = await promptRemote('pay', calls);
      await until('every call', async () => calls.every((call) => paidRemotely.includes(call)));
      remote.cut();
      await wait(task_id, 'waiting_reconciliation', calls);
      gate.resolve();
      return { task_id, listPaid: async () => paidRemotely };
    },
  },
  'for the program that sent the prompt': {
    buttons: {
      'Mark as done': {
        fill: (panel) => panel.getByLabel('Result, if you mark it as done').fill('It is 42.'),
        ...{ path: 'reconciliations', body: { decision: 'done', result: 'It is 42.' } },
        call: { status: 'done', failed: false, result: expect.stringContaining('It is 42.') },
      },
      'Mark as failed': {
        ...{ path: 'reconciliations', body: { decision: 'fail' } },
        call: { status: 'done', failed: true },
      },
    },
    async begin(calls) {
      const model = await here.workflow();
      here.model.script(asks(...toCalls('add', calls)), says('Noted.'));
      const tools = [
        { type: 'function', name: 'add', parameters: { type: 'object', properties: { order: { type: 'string' } } } },
      ];
      const response = await here.alice.ok(here.alice.post('/v1/responses', { model, input: 'Add.', tools, background: true }));
      const task_id = response.id.replace('resp_', '');
      await wait(task_id, 'waiting_client', calls);
      return { task_id };
    },
  },
  'for the answer to a question': {
    one_each: true,
    buttons: {
      Submit: {
        fill: (panel) => panel.getByLabel('Seats').fill('3'),
        ...{ path: 'answers', body: { question_id: expect.any(String), action: 'accept', content: { seats: 3 } } },
        call: { status: 'done', failed: false, result: '{"action":"accept","content":{"seats":3}}' },
      },
      Decline: {
        ...{ path: 'answers', body: { question_id: expect.any(String), action: 'decline' } },
        call: { status: 'done', result: '{"action":"decline"}' },
      },
      Cancel: {
        ...{ path: 'answers', body: { question_id: expect.any(String), action: 'cancel' } },
        call: { status: 'done', result: '{"action":"cancel"}' },
      },
    },
    async begin(calls) {
      const task_id = await promptRemote('book', calls);
      await wait(task_id, 'waiting_answer', calls);
      return { task_id };
    },
  },
  'for a larger budget': {
    one_each: true,
    buttons: {
      'Raise the budget': {
        async fill(panel) {
          await panel.getByLabel('Tokens').fill('100003');
          for (const text of ['7', '']) await panel.getByLabel('US dollars').fill(text);
        },
        path: 'budget',
        body: { max_cost_usd: null, max_tokens: 100_003, max_seconds: null, on_exhausted: 'wait' },
        task: { status: 'completed', budget: { max_cost_usd: null, max_tokens: 100_003, max_seconds: null } },
      },
    },
    async begin() {
      const workflow_id = await here.workflow({ workflow: { budget: { max_tokens: 1 } } });
      here.model.script(says('Paid for.'));
      const task_id = await here.prompt(workflow_id);
      await reaches(here, task_id, { status: 'waiting' });
      return { task_id };
    },
  },
  'about a record that is behind': {
    one_each: true,
    buttons: {
      'Resume the run': {
        path: 'continuity',
        body: { decision: 'resume' },
        task: { status: 'completed', response: 'The whole.' },
      },
      'Fail the run': {
        ...{ path: 'continuity', body: { decision: 'fail' } },
        task: { status: 'failed', error_code: 'record_behind', response: null },
      },
    },
    async begin([button]) {
      const workflow_id = await here.workflow();
      const asked = here.model.requests.length;
      here.model.script(hangs('Half'), ...(button === 'resume' ? [says('The whole.')] : []));
      const task_id = await here.prompt(workflow_id);
      await until('the model is asked', async () => here.model.requests.length > asked);
      await parkBehind(here, { task_id, workflow_id });
      await reaches(here, task_id, { status: 'waiting' });
      return { task_id };
    },
  },
};

/** The argument of the call that a button decides. */
const toOrder = (button: string) => button.toLowerCase().replace(/^mark as |(?: the .*)$/g, '');

const CASES = Object.entries(PAUSES).flatMap(([kind, { buttons, one_each }]) =>
  one_each ? Object.keys(buttons).map((button) => ({ kind, pressed: [button] })) : [{ kind, pressed: Object.keys(buttons) }],
);

describeInBrowser('a run that waits', () => {
  it.for(CASES)('$kind does what its buttons say: $pressed.0', { timeout: 120_000 }, async ({ kind, pressed }, { page }) => {
    const { buttons, begin } = PAUSES[kind]!;
    const calls = pressed.map(toOrder);
    const { task_id, listPaid } = await begin(calls);
    await signInAsAlice(page, `${here.url}/dashboard/tasks/${task_id}`);
    for (const [index, button] of pressed.entries()) {
      const call_id = toCallId(index);
      const all = page.getByRole('region', { name: 'Waiting for you' }).locator('.panel');
      const panel = buttons[button]!.call && pressed.length > 1 ? all.filter({ hasText: `"${toOrder(button)}"` }) : all;
      await panel.getByRole('button', { name: button, exact: true }).waitFor();
      const labels = (await panel.getByRole('button').allInnerTexts()).filter((label) => label !== 'Copy');
      expect(labels.toSorted()).toEqual(Object.keys(buttons).toSorted());
      await buttons[button]!.fill?.(panel);
      expect(await press(page, panel, { button, task_id })).toEqual(toRequest(task_id, buttons[button]!, call_id));
    }
    const task = await here.ended(task_id, 60_000);
    const records = await callsOf(task_id);
    for (const [index, button] of pressed.entries()) {
      const { call = {}, task: left = { status: 'completed' } } = buttons[button]!;
      expect(task).toMatchObject(left);
      expect(records.find(({ call_id }) => call_id === toCallId(index)) ?? {}).toMatchObject(call);
    }
    const paid = pressed.flatMap((button) => new Array<string>(buttons[button]!.paid ?? 0).fill(toOrder(button)));
    expect(((await listPaid?.()) ?? []).toSorted()).toEqual(paid.toSorted());
  });
});

/** The calls of the first step are numbered from one. */
const toCallId = (index: number) => `1-${index + 1}`;

const toRequest = (task_id: string, { path, body, call }: Decision, call_id: string) => ({
  path: `/api/tasks/${task_id}/${path}${call ? `/${call_id}` : ''}`,
  body,
});

/** Presses a button and returns the request that it sends. */
async function press(page: Page, panel: Locator, { button, task_id }: { button: string; task_id: string }) {
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes(task_id));
  await panel.getByRole('button', { name: button, exact: true }).click();
  const request = await sent;
  return { path: new URL(request.url()).pathname, body: request.postDataJSON() as object };
}
