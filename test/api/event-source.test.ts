import { EventSource } from 'eventsource';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventOf, rebuildTexts, type StreamedEvent } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type DroppingProxy, startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { says } from '../support/peers/model-server.ts';

/** What a program reads that follows streams with an `EventSource`, as browsers have it. */
let here: TestInstallation;
let proxy: DroppingProxy;
beforeAll(async () => {
  here = await shareInstallation();
  proxy = await startDroppingProxy(here.url);
});
afterEach(() => {
  for (const source of sources.splice(0)) source.close();
});
afterAll(async () => {
  await proxy?.stop();
  await here?.stop();
});

const sources: EventSource[] = [];

interface Opened {
  source: EventSource;
  frames: StreamedEvent[];
  /** The Last-Event-ID of each request. */
  asked: (string | null)[];
  /** The status of each refusal; null for a connection that was lost. */
  errors: (number | null)[];
}

/** `EventSource` itself sends no token and reads only by GET. */
function opened(
  path: string,
  {
    token = here.people.alice.token,
    base = here.url,
    last,
    ...request
  }: { token?: string; base?: string; last?: string } & RequestInit = {},
) {
  const asked: Opened['asked'] = [];
  const source = new EventSource(`${base}${path}`, {
    fetch: (url, init) => {
      const headers = new Headers(init.headers);
      if (last && asked.length === 0) headers.set('last-event-id', last);
      asked.push(headers.get('last-event-id'));
      headers.set('authorization', `Bearer ${token}`);
      headers.set('content-type', 'application/json');
      return fetch(url, { ...init, ...request, headers } as RequestInit);
    },
  });
  const reader: Opened = { source, asked, frames: [], errors: [] };
  source.addEventListener('message', ({ lastEventId, data }) => reader.frames.push(eventOf({ id: lastEventId, data })));
  source.addEventListener('error', ({ code = null }) => reader.errors.push(code));
  sources.push(source);
  return reader;
}

const streamOf = (workflow_id: string, task_id: string) => `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
const hasEnded = ({ frames }: Opened) => frames.some(({ type, data }) => type === 'status' && data.status === 'completed');

/** Text that would end a line, a frame or a number if it were not escaped. */
const TRICKY = 'Zwei\r\n\r\ndata: x\n\nid: 99\n: no comment € 😀 \u2028 end.';

describe('a run that an EventSource follows', () => {
  it('is read as the record has it, each event under its own number', async () => {
    here.model.script(says(TRICKY));
    const workflow_id = await here.workflow();
    const path = streamOf(workflow_id, await here.prompt(workflow_id));
    const reader = opened(path);
    await expect.poll(() => hasEnded(reader)).toBe(true);
    expect(rebuildTexts(reader.frames).texts).toEqual([TRICKY]);
    const numbers = reader.frames.map(({ id }) => id);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(await here.alice.events(path)).toEqual(reader.frames);
  });

  it('is resumed by the EventSource after a lost connection, and loses and repeats nothing', async () => {
    const gate = Promise.withResolvers<void>();
    here.model.script(says('One two three.', { until: gate.promise }));
    const workflow_id = await here.workflow();
    const path = streamOf(workflow_id, await here.prompt(workflow_id));
    const reader = opened(path, { base: proxy.url });
    await expect.poll(() => reader.frames.some(({ type }) => type === 'message_delta')).toBe(true);
    const seen = String(reader.frames.at(-1)?.id);
    proxy.drop();
    await expect.poll(() => reader.asked).toEqual([null, seen]);
    gate.resolve();
    await expect.poll(() => hasEnded(reader)).toBe(true);
    expect(rebuildTexts(reader.frames).texts).toEqual(['One two three.']);
    expect(await here.alice.events(path)).toEqual(reader.frames);
  });

  it('sends nothing again to an EventSource that comes back after the end', async () => {
    here.model.script(says('Done.'));
    const workflow_id = await here.workflow();
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const path = streamOf(workflow_id, task_id);
    const reader = opened(path);
    // 204: there is nothing after the end, so it does not come back again.
    await expect.poll(() => reader.errors.at(-1)).toBe(204);
    expect(reader.source.readyState).toBe(EventSource.CLOSED);
    expect(await here.alice.events(path)).toEqual(reader.frames);
    expect(reader.asked.slice(1).map(Number)).toEqual([reader.frames.at(-1)?.id]);
  });

  it('is continued after the last event received, whatever number the path began with', async () => {
    here.model.script(says('Done.'));
    const workflow_id = await here.workflow();
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const path = streamOf(workflow_id, task_id);
    const ids = (await here.alice.events(path)).map(({ id }) => id);
    const [first, seen] = [ids[0], ids[2]];
    const reader = opened(`${path}&after=${first}`, { last: String(seen) });
    await expect.poll(() => reader.errors.at(-1)).toBe(204);
    expect(reader.frames.map(({ id }) => id)).toEqual(ids.slice(3));
  });

  it('is refused for good without a valid token', async () => {
    const workflow_id = await here.workflow();
    const reader = opened(`/api/workflows/${workflow_id}/stream`, { token: 'wrong' });
    await expect.poll(() => reader.errors).toEqual([401]);
    expect(reader.source.readyState).toBe(EventSource.CLOSED);
  });
});

it('reads a chat reply in frames that count from 1', async () => {
  here.model.script(says(TRICKY));
  await here.workflow();
  const [agent] = (await here.alice.get('/api/agents')).body as unknown as { id: string }[];
  const reader = opened(`/api/agents/${agent?.id}/chat`, { method: 'POST', body: JSON.stringify({ message: 'Hello' }) });
  const frames = reader.frames as unknown as { id: number; type: string; content: string }[];
  await expect.poll(() => frames.at(-1)?.type).toBe('done');
  reader.source.close();
  expect(frames.map(({ id }) => id)).toEqual(frames.map((_, index) => index + 1));
  expect(frames.map(({ content }) => content ?? '').join('')).toBe(TRICKY);
  expect(reader.asked).toEqual([null]);
});
