import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, type TestContext, vi } from 'vitest';
import { agents } from '../../src/contracts/agents.ts';
import type { RecordChange } from '../../src/contracts/changes.ts';
import { inbox } from '../../src/contracts/inbox.ts';
import { runInspection } from '../../src/contracts/run-inspection.ts';
import { tasks } from '../../src/contracts/tasks.ts';
import { threads } from '../../src/contracts/threads.ts';
import { usage } from '../../src/contracts/usage.ts';
import { workflows } from '../../src/contracts/workflows.ts';
import { ApiProblem, type Client } from '../../src/dashboard/api/call.ts';
import { followChanges, inBatches, isAffected } from '../../src/dashboard/api/changes.ts';

const RUN: RecordChange = { kind: 'tasks', id: 'the-run', workflow_id: 'the-flow' };

describe('a change', () => {
  it.each<[string, RecordChange, { path: string }, string[], boolean]>([
    ['a run: the list of runs', RUN, tasks.list, [], true],
    ['a run: itself', RUN, tasks.get, ['the-run'], true],
    ['a run: another run', RUN, tasks.get, ['another'], false],
    ['a run: its steps, which have their own stream', RUN, runInspection.timeline, ['the-run'], false],
    ['a run: its workflow', RUN, workflows.get, ['the-flow'], true],
    ['a run: another workflow', RUN, workflows.get, ['another'], false],
    ['a run: what is waited for', RUN, inbox.list, [], true],
    ['a run: conversations, of which it may be a turn', RUN, threads.get, ['h'], true],
    ['a conversation: the list', { kind: 'threads', id: 'h' }, threads.list, [], true],
    ['a conversation: another', { kind: 'threads', id: 'h' }, threads.get, ['another'], false],
    ['a run: figures', RUN, usage.get, [], true],
    ['a run: agents', RUN, agents.list, [], false],
    ['what a run waits for: the inbox', { ...RUN, kind: 'inbox' }, inbox.list, [], true],
    ['what a run waits for: the run', { ...RUN, kind: 'inbox' }, tasks.get, ['the-run'], false],
    ['an agent: the list', { kind: 'agents', id: 'a' }, agents.list, [], true],
    ['an agent: itself', { kind: 'agents', id: 'a' }, agents.get, ['a'], true],
    ['an agent: another', { kind: 'agents', id: 'a' }, agents.get, ['b'], false],
    ['several agents: each', { kind: 'agents', id: null }, agents.get, ['b'], true],
    ['an agent: runs', { kind: 'agents', id: 'a' }, tasks.list, [], false],
    ['a score of a run: the run', { kind: 'tasks', id: 'the-run' }, runInspection.timeline, ['the-run'], true],
    ['an import: anything', { kind: 'import', id: null }, agents.get, ['a'], true],
    ['all: anything', { kind: 'all', id: null }, usage.get, [], true],
  ])('of %s', (_, change, { path }, ids, affected) => {
    expect(isAffected(change, { path, ids })).toBe(affected);
  });
});

describe('batches of changes', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('begin at once, and get rarer while a burst lasts', async () => {
    const passed: string[] = [];
    const batches = inBatches((batch) => passed.push(batch.map(({ id }) => id).join('')));
    const add = (...ids: string[]) => {
      for (const id of ids) batches.add({ kind: 'agents', id });
    };
    add('a', 'b', 'c');
    expect(passed).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(999);
    expect(passed).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(1);
    expect(passed).toEqual(['a', 'bc']);
    add('d');
    await vi.advanceTimersByTimeAsync(1_999);
    expect(passed).toEqual(['a', 'bc']);
    await vi.advanceTimersByTimeAsync(1);
    expect(passed).toEqual(['a', 'bc', 'd']);
    // Quiet ends the burst.
    await vi.advanceTimersByTimeAsync(10_000);
    add('e', 'f');
    expect(passed).toEqual(['a', 'bc', 'd', 'e']);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(passed).toEqual(['a', 'bc', 'd', 'e', 'f']);
  });

  it('never wait longer than five seconds, and end', async () => {
    const passed: number[] = [];
    const batches = inBatches((batch) => passed.push(batch.length));
    for (let second = 0; second < 60; second += 1) {
      batches.add({ kind: 'agents', id: 'a' });
      await vi.advanceTimersByTimeAsync(1_000);
    }
    // After 0, 1, 3 and 7 seconds, and every five seconds from then on.
    expect(passed.length).toBe(14);
    batches.add({ kind: 'agents', id: 'a' });
    batches.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(passed.length).toBe(14);
  });
});

/** Serves connections in turn: each sends its changes and ends, is refused with a status, or gets no answer. The last stays open. */
async function serve({ onTestFinished }: TestContext, answers: (RecordChange[] | number | 'nothing')[]) {
  const server = createServer((_, response: ServerResponse) => {
    const answer = answers.shift();
    if (answer === 'nothing') return;
    if (typeof answer === 'number') return void response.writeHead(answer).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': open\n\n');
    for (const change of answer ?? []) response.write(`data: ${JSON.stringify(change)}\n\n`);
    if (answers.length > 0) response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const leaving = new AbortController();
  onTestFinished(async () => {
    leaving.abort();
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
  return { client, leaving };
}

describe('the stream of changes', () => {
  const of = (id: string): RecordChange => ({ kind: 'agents', id });

  it('is opened again when it ends or is refused, and reports each opening and loss', async (context) => {
    const { client, leaving } = await serve(context, [[of('a')], 503, [of('b')]]);
    const happened: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const following = followChanges(client, {
      signal: leaving.signal,
      onOpen: () => happened.push('open'),
      onLost: () => happened.push('lost'),
      onChange({ id }) {
        happened.push(`${id}`);
        if (id === 'b') arrived.resolve();
      },
    });
    await arrived.promise;
    expect(happened).toEqual(['open', 'a', 'lost', 'lost', 'open', 'b']);
    leaving.abort();
    await following;
    expect(happened.at(-1)).toBe('b');
  });

  it('is lost if it is never answered, as behind a proxy that keeps responses to itself', async (context) => {
    const { client, leaving } = await serve(context, ['nothing', [of('b')]]);
    const happened: string[] = [];
    const arrived = Promise.withResolvers<void>();
    void followChanges(client, {
      signal: leaving.signal,
      onOpen: () => happened.push('open'),
      onLost: () => happened.push('lost'),
      onChange: () => arrived.resolve(),
      silent_ms: 500,
    });
    await arrived.promise;
    expect(happened).toEqual(['lost', 'open']);
  });

  /** Follows a service that is out of reach, except for connections that last for a time each. Returns what was reported, by the second. */
  async function followFor(seconds: number, lasting_ms: number[]) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], now: 0 });
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const began = performance.now();
    const reported: string[] = [];
    const note = (what: string) => reported.push(`${what} ${Math.round((performance.now() - began) / 1_000)}`);
    const client = {
      async send() {
        const ms = lasting_ms.shift();
        if (ms === undefined) throw new ApiProblem({ status: 0, code: 'unreachable', detail: 'unreachable' });
        return new Response(new ReadableStream({ start: (stream) => void setTimeout(() => stream.close(), ms) }));
      },
    } as unknown as Client;
    const leaving = new AbortController();
    const following = followChanges(client, {
      signal: leaving.signal,
      onOpen: () => note('open'),
      onLost: () => note('lost'),
      onChange: ({ kind }) => note(kind),
    });
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
    leaving.abort();
    await following;
    return reported;
  }
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('counts everything as changed once a minute while it cannot be opened', async () => {
    const reported = await followFor(200, []);
    expect(reported.filter((what) => what.startsWith('all'))).toEqual(['all 62', 'all 122', 'all 182']);
  });

  it('is soon opened again after a connection of more than ten seconds, and later after a shorter one', async () => {
    expect(await followFor(40, [2_000, 11_000, 7_000])).toEqual([
      ...['open 0', 'lost 2', 'open 3', 'lost 14', 'open 14', 'lost 21'],
      ...['lost 22', 'lost 24', 'lost 28', 'lost 36'],
    ]);
  });

  it('ends with the sign-in', async (context) => {
    const { client, leaving } = await serve(context, [401, [of('a')]]);
    const happened: string[] = [];
    const note = () => happened.push('something');
    await followChanges(client, { signal: leaving.signal, onOpen: note, onLost: note, onChange: note });
    expect(happened).toEqual([]);
  });
});
