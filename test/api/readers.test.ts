import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventOf, framesIn, rebuilt } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/model-server.ts';
import { type UnreadReply, unread } from '../support/unread.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { REPLY_STALL_SECONDS: '600' } });
});
afterAll(() => here.stop());

/** Words of 4,000 characters, each of which the scripted model sends as one delta; more than the kernel keeps for a connection. */
const LONG = Array.from({ length: 1_500 }, (_, index) => `${index}-`.padEnd(3_999, String(index % 10))).join(' ');
const READERS = 20;
/** For the queue, a page of the record, and what was written to the socket. */
const MOST_BYTES = 160 * 1024;

async function metric(name: string): Promise<number> {
  const { body } = await here.anonymous.get('/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(String(body))?.[1]);
}

/** The requests that stream the answer of one run or chat, and the text in such a reply. */
const DOORS: Record<string, { ask(): Promise<UnreadReply>; textIn(reply: string): string }> = {
  '/api': {
    async ask() {
      const workflow_id = await here.workflow();
      const task_id = await here.prompt(workflow_id);
      return unread(`${here.url}/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { token: ALICE });
    },
    textIn: (reply) => rebuilt(framesIn(reply).map(eventOf)).texts.join(),
  },
  chat: {
    async ask() {
      const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
      return unread(`${here.url}/api/agents/${agent_id}/chat`, { token: ALICE, method: 'POST', body: { message: 'x' } });
    },
    textIn: (reply) =>
      datas(reply)
        .map(({ type, content }) => (type === 'delta' ? content : ''))
        .join(''),
  },
  '/v1/chat/completions': {
    async ask() {
      const body = { model: await here.workflow(), messages: [{ role: 'user', content: 'x' }], stream: true };
      return unread(`${here.url}/v1/chat/completions`, { token: ALICE, method: 'POST', body });
    },
    textIn: (reply) =>
      datas(reply)
        .map(({ choices }) => choices?.[0]?.delta.content ?? '')
        .join(''),
  },
  '/v1/responses': {
    async ask() {
      const body = { model: await here.workflow(), input: 'x', stream: true };
      return unread(`${here.url}/v1/responses`, { token: ALICE, method: 'POST', body });
    },
    textIn(reply) {
      const events = datas(reply);
      const text = events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
      expect(events.find(({ type }) => type === 'response.output_text.done')?.text === text).toBe(true);
      return text;
    },
  },
  '/mcp': {
    async ask() {
      const name = `w_${(await here.workflow()).slice(-8)}`;
      const { tools } = await mcp('tools/list', {});
      const tool = tools.find((one: { name: string }) => one.name.endsWith(name.slice(1)));
      const params = { name: tool.name, arguments: { prompt: 'x' }, _meta: { progressToken: 1 } };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      return unread(`${here.url}/mcp`, { token: ALICE, method: 'POST', body, headers: MCP });
    },
    textIn: (reply) => datas(reply).find(({ result }) => result)?.result.content[0].text,
  },
};

const MCP = { accept: 'application/json, text/event-stream' };
async function mcp(method: string, params: object): Promise<any> {
  const body = { jsonrpc: '2.0', id: 1, method, params };
  const reply = await unread(`${here.url}/mcp`, { token: ALICE, method: 'POST', body, headers: MCP });
  return datas(await reply.read())[0].result;
}

const datas = (reply: string): any[] =>
  framesIn(reply).flatMap(({ data }) => (data && data !== '[DONE]' ? [JSON.parse(data)] : []));

describe('readers that take nothing', () => {
  it('cost little while a run streams a long text, and get every event later', async () => {
    const workflow_id = await here.workflow();
    const path = `${here.url}/api/workflows/${workflow_id}/stream`;
    const live = await Promise.all(Array.from({ length: READERS / 2 }, () => unread(path, { token: ALICE })));
    here.model.script(says(LONG));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id, 60_000);
    const late = await Promise.all(
      Array.from({ length: READERS / 2 }, () => unread(`${path}?task_id=${task_id}`, { token: ALICE })),
    );
    const settled = await until('nothing moves', async () => {
      const before = await metric('perdura_stream_bytes_waiting');
      await new Promise((resolve) => setTimeout(resolve, 500));
      return before > 0 && before === (await metric('perdura_stream_bytes_waiting')) && before;
    });
    expect(await metric('perdura_streams_open')).toBe(READERS);
    expect(settled).toBeLessThan(READERS * MOST_BYTES);
    for (const reader of late) {
      const events = framesIn(await reader.read()).map(eventOf);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
      expect(rebuilt(events).texts[0] === LONG).toBe(true);
      expect(events.findLast(({ type }) => type === 'message')?.data.content === LONG).toBe(true);
    }
    for (const reader of live) reader.drop();
    await until('all are gone', async () => (await metric('perdura_streams_open')) === 0);
    expect(await metric('perdura_stream_bytes_waiting')).toBe(0);
  }, 120_000);

  it.each(Object.keys(DOORS))(
    'get the whole text later: %s',
    async (name) => {
      const { ask, textIn } = DOORS[name]!;
      here.model.script(says(LONG));
      const reader = await ask();
      expect(reader.status).toBe(200);
      await until(
        'it stands still',
        async () => {
          const before = await metric('perdura_stream_bytes_waiting');
          await new Promise((resolve) => setTimeout(resolve, 1_500));
          return before > 0 && before === (await metric('perdura_stream_bytes_waiting'));
        },
        60_000,
      );
      expect(textIn(await reader.read()) === LONG).toBe(true);
    },
    120_000,
  );
});
