import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type UnreadReply, unread } from '../browser/unread.ts';
import { eventOf, framesIn, rebuildTexts } from '../client.ts';
import { ALICE, type TestInstallation } from '../installation.ts';
import { until } from '../until.ts';

/**
 * Words of 4,000 characters, each of which the scripted model sends as one delta. Together they exceed the kernel's buffer for
 * a connection.
 */
export const LONG = Array.from({ length: 1_400 }, (_, index) => `${index}-`.padEnd(3_999, String(index % 10))).join(' ');

export async function metric({ anonymous }: TestInstallation, name: string): Promise<number> {
  const { body } = await anonymous.get('/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(String(body))?.[1]);
}

/**
 * Sends a request as any client should: again while the service is too busy (503). All tries have the same key, so they start one
 * run.
 */
function sendUntilServed(
  here: TestInstallation,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<UnreadReply> {
  const keyed = { ...headers, 'idempotency-key': randomUUID() };
  const send = async () => {
    const reply = await unread(`${here.url}${path}`, { token: ALICE, method: 'POST', body, headers: keyed });
    return reply.status === 503 ? void (await reply.read()) : reply;
  };
  return until(`an answer other than 503 of ${path}`, send, 60_000);
}

/** The requests that stream the answer of one run or chat, and the function that returns the text in such a reply. */
export const DOORS: Record<string, { ask(here: TestInstallation): Promise<UnreadReply>; textIn(reply: string): string }> = {
  '/api': {
    async ask(here) {
      const workflow_id = await here.workflow();
      const started = await sendUntilServed(here, `/api/workflows/${workflow_id}/prompt`, { prompt: 'x' });
      const { task_id } = JSON.parse(await started.read());
      return unread(`${here.url}/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { token: ALICE });
    },
    textIn: (reply) => rebuildTexts(framesIn(reply).map(eventOf)).texts.join(),
  },
  chat: {
    async ask(here) {
      const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
      return sendUntilServed(here, `/api/agents/${agent_id}/chat`, { message: 'x' });
    },
    textIn: (reply) =>
      datas(reply)
        .map(({ type, content }) => (type === 'delta' ? content : ''))
        .join(''),
  },
  '/v1/chat/completions': {
    async ask(here) {
      const body = { model: await here.workflow(), messages: [{ role: 'user', content: 'x' }], stream: true };
      return sendUntilServed(here, '/v1/chat/completions', body);
    },
    textIn: (reply) =>
      datas(reply)
        .map(({ choices }) => choices?.[0]?.delta.content ?? '')
        .join(''),
  },
  '/v1/responses': {
    async ask(here) {
      const body = { model: await here.workflow(), input: 'x', stream: true };
      return sendUntilServed(here, '/v1/responses', body);
    },
    textIn(reply) {
      const events = datas(reply);
      const text = events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
      expect(events.find(({ type }) => type === 'response.output_text.done')?.text === text).toBe(true);
      return text;
    },
  },
  '/mcp': {
    async ask(here) {
      const name = `w_${(await here.workflow()).slice(-8)}`;
      const { tools } = await toolsOf(here);
      const tool = tools.find((one) => one.name.endsWith(name.slice(1)));
      const params = { name: tool!.name, arguments: { prompt: 'x' }, _meta: { progressToken: 1 } };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      return sendUntilServed(here, '/mcp', body, MCP);
    },
    textIn: (reply) => datas(reply).find(({ result }) => result)?.result.content[0].text,
  },
};

const MCP = { accept: 'application/json, text/event-stream' };
async function toolsOf(here: TestInstallation): Promise<{ tools: { name: string }[] }> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const reply = await unread(`${here.url}/mcp`, { token: ALICE, method: 'POST', body, headers: MCP });
  return datas(await reply.read())[0].result;
}

const datas = (reply: string): any[] =>
  framesIn(reply).flatMap(({ data }) => (data && data !== '[DONE]' ? [JSON.parse(data)] : []));
