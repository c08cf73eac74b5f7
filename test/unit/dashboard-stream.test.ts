import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, type TestContext } from 'vitest';
import type { RunEvent } from '../../src/contracts/events.ts';
import { ApiProblem, type Client } from '../../src/dashboard/api/call.ts';
import { followRun } from '../../src/dashboard/api/stream.ts';
import { applyEvents, emptyRun } from '../../src/dashboard/runs/run-state.ts';

const timestamp = '2026-01-31T12:00:00.000Z';
const TASK = 'the-task';
const event = (type: string, data: object) => ({ type, data, timestamp }) as RunEvent;
const delta = (text: string) => event('message_delta', { delta: text });
const status = (word: string, task_id = TASK) => event('status', { task_id, status: word, current_turn: 0 });

const RECORD = [
  status('running'),
  // The end of another run of this workflow does not end this stream.
  status('completed', 'another-task'),
  delta('One '),
  event('log', { event: 'attempt_reset', detail: 'again' }),
  delta('Two '),
  delta('three.'),
  event('message', { role: 'assistant', content: 'Two three.' }),
  status('completed'),
];

interface Serving {
  /** Where connections end, in turn. */
  cuts: number[];
  refusals?: number[];
  repeats?: number;
  /** What the second connection gets instead: the events of a restored record, or nothing more. */
  restored?: readonly RunEvent[];
  has_all?: boolean;
}

/** Serves a record of events as the API does, until the test ends: after `last-event-id`, with comments in between. */
async function serve({ onTestFinished }: TestContext, { cuts, refusals = [], repeats = 0, restored, has_all = false }: Serving) {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const refusal = refusals.shift();
    if (refusal) return void response.writeHead(refusal).end();
    asked.push(request.headers['last-event-id'] as string | undefined);
    if (asked.length === 2 && has_all) return void response.writeHead(204).end();
    if (asked.length === 2 && restored) return sendRecord(response, restored, { after: 0, upto: restored.length });
    sendRecord(response, RECORD, { after: Number(asked.at(-1) ?? 0) - repeats, upto: cuts.shift() ?? RECORD.length });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = {
    async send(path: string, init: RequestInit) {
      const answer = await fetch(`${url}${path}`, init);
      if (answer.ok) return answer;
      throw new ApiProblem({ status: answer.status, code: 'refused', detail: 'refused' });
    },
  } as Client;
  return { asked, client };
}

interface Part {
  after: number;
  upto: number;
}

function sendRecord(response: ServerResponse, record: readonly RunEvent[], { after, upto }: Part): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  for (const [index, each] of record.entries())
    if (index >= after && index < upto) response.write(`id: ${index + 1}\ndata: ${JSON.stringify(each)}\n\n`);
  if (upto < record.length) response.write(': keep-alive\n\n', () => response.destroy());
  else response.end();
}

async function followed(client: Client, { leaves_after = Number.POSITIVE_INFINITY } = {}) {
  const leaving = new AbortController();
  const seen: RunEvent[] = [];
  const states: string[] = [];
  await followRun(client, {
    ...{ workflow_id: 'w', task_id: TASK, signal: leaving.signal },
    onEvents: (events) => {
      seen.push(...events);
      if (seen.length === leaves_after) leaving.abort();
    },
    onConnection: (state) => void states.push(state),
  });
  return { seen, states };
}

// Together, because each waits before it reconnects.
describe.concurrent('the dashboard', () => {
  it.for(RECORD.map((_, cut) => cut))('loses and repeats nothing when a stream breaks after event %i', async (cut, context) => {
    const { asked, client } = await serve(context, { cuts: [cut] });
    const { seen, states } = await followed(client);
    expect(seen).toEqual(RECORD);
    expect(asked).toEqual([undefined, cut === 0 ? undefined : String(cut)]);
    expect(states).toEqual(['connecting', 'live', 'reconnecting', 'live', 'ended']);
    const blocks = [{ kind: 'note' }, { kind: 'text', text: 'Two three.' }];
    expect(applyEvents(emptyRun, seen)).toMatchObject({ status: 'completed', partial: '', blocks });
  });

  it('follows a stream that breaks again and again, and past an outage of the service', async (context) => {
    const { asked, client } = await serve(context, { cuts: [2, 3, 5], refusals: [503] });
    expect((await followed(client)).seen).toEqual(RECORD);
    expect(asked).toEqual([undefined, '2', '3', '5']);
  });

  it('shows what a server repeats once', async (context) => {
    const { client } = await serve(context, { cuts: [5, 7], repeats: 2 });
    expect((await followed(client)).seen).toEqual(RECORD);
  });

  it('shows a restored record from its start', async (context) => {
    const restored = [
      event('log', { event: 'stream_reset', detail: 'restored' }),
      status('running'),
      delta('Again.'),
      status('completed'),
    ];
    const { asked, client } = await serve(context, { cuts: [6], restored });
    expect((await followed(client)).seen).toEqual([...RECORD.slice(0, 6), ...restored]);
    expect(asked).toEqual([undefined, '6']);
  });

  it('ends if the service has nothing more to send', async (context) => {
    const { client } = await serve(context, { cuts: [7], has_all: true });
    const { seen, states } = await followed(client);
    expect(seen).toEqual(RECORD.slice(0, 7));
    expect(states).toEqual(['connecting', 'live', 'reconnecting', 'live', 'ended']);
  });

  it('neither continues nor reconnects once the page is left', async (context) => {
    const { asked, client } = await serve(context, { cuts: [3] });
    const { seen, states } = await followed(client, { leaves_after: 3 });
    expect([seen.length, asked, states]).toEqual([3, [undefined], ['connecting', 'live']]);
  });

  it.for([401, 403, 404])('stops following and reports a refusal with %i', async (refusal, context) => {
    const { client } = await serve(context, { cuts: [], refusals: [refusal] });
    await expect(followed(client)).rejects.toMatchObject({ status: refusal });
  });
});
