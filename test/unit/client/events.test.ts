import { describe, expect, it } from 'vitest';
import { createClient, PerduraError, type TaskEvent } from '../../../src/client/index.ts';

const timestamp = '2026-01-31T12:00:00.000Z';
const log = (id: number, event = 'model_call') => ({ id, type: 'log', data: { event, detail: '' }, timestamp });
const end = (id: number) => ({ id, type: 'status', data: { status: 'completed', current_turn: 1, task_id: 't' }, timestamp });
const frame = ({ id, ...event }: object & { id?: number }) =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;

type Answer = (signal: AbortSignal) => Response;
const task =
  (status: string): Answer =>
  () =>
    Response.json({ id: 't', workflow_id: 'w', status });

/** A stream with these events, which then ends, breaks or stays open. */
const stream =
  (events: (object & { id?: number })[], then: 'ends' | 'breaks' | 'stays' = 'ends'): Answer =>
  (signal) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
      pull(controller) {
        const event = events.shift();
        if (event) controller.enqueue(new TextEncoder().encode(frame(event)));
        else if (then === 'ends') controller.close();
        else if (then === 'breaks') controller.error(new TypeError('terminated'));
        else return new Promise<void>(() => {});
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };

/** A client of a service that gives these answers, and the `Last-Event-ID` of each stream that was opened. */
function following(answers: Answer[], silence_ms = 45_000) {
  const asked: (string | null)[] = [];
  const signals: AbortSignal[] = [];
  const fetch = async (url: string | URL | Request, { headers, signal }: RequestInit = {}) => {
    if (String(url).includes('/stream')) asked.push(new Headers(headers).get('last-event-id'));
    signal?.throwIfAborted();
    signals.push(signal as AbortSignal);
    const answer = answers.shift();
    if (!answer) throw new Error('nothing is left to answer');
    return answer(signal as AbortSignal);
  };
  const client = createClient({ url: 'http://perdura.example', token: 'x', silence_ms, fetch: fetch as typeof globalThis.fetch });
  return { client, asked, signals, answers };
}

async function idsOf(events: AsyncIterable<TaskEvent>): Promise<(number | null)[]> {
  const ids: (number | null)[] = [];
  for await (const { id } of events) ids.push(id);
  return ids;
}

// They wait between two connections, at the same time.
describe.concurrent('the events of a run', () => {
  it('continue after the last one when the connection is lost', async () => {
    const { client, asked, answers } = following([task('running'), stream([log(1), log(2)], 'breaks'), stream([log(3), end(4)])]);
    expect(await idsOf(client.tasks.events('t'))).toEqual([1, 2, 3, 4]);
    expect([asked, answers]).toEqual([[null, '2'], []]);
  });

  it('continue when the service closes the stream before the end', async () => {
    const { client, asked } = following([task('running'), stream([log(1)]), task('running'), stream([end(2)])]);
    expect(await idsOf(client.tasks.events('t'))).toEqual([1, 2]);
    expect(asked).toEqual([null, '1']);
  });

  it('are complete if the run ends while nobody is connected', async () => {
    const { client, asked } = following([task('running'), stream([log(1)]), task('completed'), stream([log(2), end(3)])]);
    expect(await idsOf(client.tasks.events('t'))).toEqual([1, 2, 3]);
    expect(asked).toEqual([null, '1']);
  });

  it('are none after the last one of a run that has ended', async () => {
    const { client, asked } = following([task('failed'), stream([])]);
    expect(await idsOf(client.tasks.events('t', { after: 9 }))).toEqual([]);
    expect(asked).toEqual(['9']);
  });

  it('continue on another connection when one is silent', async () => {
    const { client, asked } = following([task('running'), stream([log(1)], 'stays'), stream([end(2)])], 50);
    expect(await idsOf(client.tasks.events('t'))).toEqual([1, 2]);
    expect(asked).toEqual([null, '1']);
  });

  it('begin again where stream_reset has them begin', async () => {
    const reset = log(3, 'stream_reset');
    const { client, asked } = following([task('running'), stream([log(7), reset], 'breaks'), stream([end(4)])]);
    expect(await idsOf(client.tasks.events('t'))).toEqual([7, 3, 4]);
    expect(asked).toEqual([null, '3']);
  });

  const answered = (status: number) => () => Response.json({ code: 'x', detail: 'x' }, { status });

  it.each([429, 502, 503, 504])('continue after an answer of %i, which passes', async (status) => {
    const { client, asked } = following([task('running'), stream([log(1)], 'breaks'), answered(status), stream([end(2)])]);
    expect(await idsOf(client.tasks.events('t'))).toEqual([1, 2]);
    expect(asked).toEqual([null, '1', '1']);
  });

  it.each([400, 401, 404, 500])('end with an answer of %i', async (status) => {
    const { client } = following([task('running'), answered(status)]);
    await expect(idsOf(client.tasks.events('t'))).rejects.toMatchObject({ status });
  });

  it('may have no number, and continue after the last one that has', async () => {
    const delta = { type: 'message_delta', data: { delta: 'x' }, timestamp };
    const { client, asked } = following([task('running'), stream([log(1), delta], 'breaks'), stream([end(2)])]);
    expect(await idsOf(client.tasks.events('t'))).toEqual([1, null, 2]);
    expect(asked).toEqual([null, '1']);
  });

  it('are none if the service has nothing to stream', async () => {
    const nothing = () => new Response(null, { status: 204 });
    const { client, answers } = following([task('running'), nothing, task('completed'), nothing]);
    expect([await idsOf(client.tasks.events('t')), answers]).toEqual([[], []]);
  });

  it('are waited for until the run has ended, or the caller leaves', async () => {
    const { client } = following([task('running'), stream([log(1), end(2)]), task('completed')]);
    expect(await client.tasks.wait('t')).toMatchObject({ id: 't', status: 'completed' });
    const signal = AbortSignal.abort(new Error('the user left'));
    await expect(following([task('running')]).client.tasks.wait('t', { signal })).rejects.toThrow('the user left');
  });

  it('are refused to others', async () => {
    const refused = () => Response.json({ code: 'forbidden', detail: 'This workflow belongs to someone else' }, { status: 403 });
    const { client } = following([task('running'), refused]);
    await expect(idsOf(client.tasks.events('t'))).rejects.toBeInstanceOf(PerduraError);
  });

  it('are left by leaving the loop, and by the signal', async () => {
    const { client, signals } = following([task('running'), stream([log(1), log(2)], 'stays')]);
    for await (const { id } of client.tasks.events('t')) if (id === 1) break;
    expect(signals.at(-1)?.aborted).toBe(true);
    const left = new AbortController();
    const other = following([task('running'), stream([log(1)], 'stays')]);
    const seen = async () => {
      for await (const _ of other.client.tasks.events('t', { signal: left.signal })) left.abort(new Error('the user left'));
    };
    await expect(seen()).rejects.toThrow('the user left');
  });
});
