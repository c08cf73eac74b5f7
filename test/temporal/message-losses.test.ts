import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Reply } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { type Answer, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let worker: Child;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  worker = await startWorkerProcess(here.setting);
});
afterAll(async () => {
  await worker?.end('SIGKILL');
  await here?.stop();
});

async function loseWorker(): Promise<void> {
  await worker.end('SIGKILL');
  worker = await startWorkerProcess(here.setting);
}

async function newThread(): Promise<string> {
  const workflow_id = await here.workflow({ workflow: { remember: 'thread', output_format: 'markdown' } });
  return (await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201)).id;
}
const send = (id: string, message: string, when_busy = 'steer') =>
  here.alice.ok(here.alice.post(`/api/threads/${id}/messages`, { message, when_busy }), 202);
const receiptsOf = (id: string) => here.alice.ok(here.alice.get(`/api/threads/${id}/messages`));

it('a message waits for a run whose worker is killed, and is read once', async () => {
  const id = await newThread();
  const before = here.model.requests.length;
  here.model.script(hangs('Half'), says('Cinq.'));
  const first = await send(id, 'Two and three?');
  await until('the model is asked', async () => here.model.requests.length === before + 1, 40_000);
  const steer = await send(id, 'In French.');
  await loseWorker();
  expect(await here.ended(first.id, 60_000)).toMatchObject({ status: 'completed', response: 'Cinq.', steps: 1 });
  const [again, ...more] = here.model.requests.slice(before + 1);
  expect(again!.messages.slice(1).map(({ content }) => content)).toEqual(['Two and three?', 'In French.']);
  expect(more).toEqual([]);
  expect((await receiptsOf(id)).map(({ state, task_id, step }: any) => [state, task_id, step])).toEqual([
    ['steered', first.id, 1],
    ['started', first.id, null],
  ]);
  expect(steer.task_id).toBe(first.id);
}, 120_000);

/** Takes a while, so that messages meet a run in progress. */
const answersSlowly: Answer = async (response, request) => {
  await wait(120);
  return says('Well. Yes.', { pause_ms: 40 })(response, request);
};

/** Random numbers that are the same in each run of the test. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

interface Sent {
  thread_id: string;
  text: string;
  id: string;
}

const answered = (reply: Reply) => reply.status < 500 && reply;

/** Sends messages of random policy one after the other; repeats each request that fails, and some that do not, with their key. */
async function sendMany(thread_id: string, count: number, random: () => number): Promise<Sent[]> {
  const sent: Sent[] = [];
  const policies = ['enqueue', 'steer', 'steer', 'steer', 'interrupt', 'fork', 'reject'];
  for (let index = 0; index < count; index += 1) {
    const text = `${thread_id.slice(-4)} ${index}`;
    const when_busy = policies[Math.floor(random() * policies.length)];
    const headers = { 'idempotency-key': randomUUID() };
    const post = () => here.alice.post(`/api/threads/${thread_id}/messages`, { message: text, when_busy }, headers);
    const answer = () => until('the service answers', async () => answered(await post()));
    const reply = await answer();
    if (random() < 0.1) expect((await answer()).body.id).toBe(reply.body.id);
    if (reply.status === 202 || reply.status === 200) sent.push({ thread_id, text, id: reply.body.id });
    if (random() < 0.1) await here.alice.del(`/api/threads/${thread_id}/messages/${reply.body.id}`);
    await wait(random() * 200);
  }
  return sent;
}

async function loseTwice(): Promise<void> {
  for (const pause of [2_000, 4_000]) {
    await wait(pause);
    await loseWorker();
    await here.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
  }
}

it('each of many messages ends in one state and is read once, in order, while workers and connections are lost', async () => {
  here.model.always(answersSlowly);
  const threads = [await newThread(), await newThread(), await newThread()];
  const [, ...lists] = await Promise.all([loseTwice(), ...threads.map((id, index) => sendMany(id, 29, seeded(17 + index)))]);
  const sent = lists.flat();
  await until('the database to be back', () => here.alice.get('/api/threads').then(({ status }) => status === 200));
  const read = await until(
    'no message waits, and no run works',
    async () => {
      const receipts = (await Promise.all(threads.map(receiptsOf))).flat();
      const [{ open }] = await here.sql(
        `SELECT count(*)::int AS open FROM tasks WHERE thread_id = ANY ($1) AND status IN ('pending', 'running', 'waiting')`,
        threads,
      );
      return open === 0 && receipts.every(({ state }: any) => state !== 'pending') && receipts;
    },
    150_000,
  );
  expect(read.map(({ id }: any) => id).toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
  // What models were asked with is what the transcripts of the runs hold. A fork copies the messages of its source, which
  // may be a fork as well, and adds its own.
  const transcripts = await here.sql(
    `SELECT m.task_id, m.content, t.forked_from IS NOT NULL AND CASE m.kind WHEN 'steer' THEN r.task_id <> m.task_id
       ELSE t.fork_step > m.step + 1 OR t.fork_step = m.step + 1 AND m.content <> given.content END AS copied
     FROM task_messages m JOIN tasks t ON t.id = m.task_id LEFT JOIN thread_messages r ON r.id = (m.extra ->> 'message_id')::uuid
       LEFT JOIN thread_messages given ON given.id = t.id
     WHERE t.thread_id = ANY ($1) AND m.kind IN ('prompt', 'steer')
     ORDER BY m.task_id, m.step, m.position`,
    threads,
  );
  const own = transcripts.filter(({ copied }) => !copied);
  const places = read.map(({ message, state, task_id }: any) => [
    message,
    state,
    own.filter(({ content }) => content === message).map((one) => one.task_id),
    task_id,
  ]);
  const expected = read.map(({ message, state, task_id }: any) => [
    message,
    state,
    state === 'started' || state === 'steered' ? [task_id] : [],
    task_id,
  ]);
  expect(places).toEqual(expected);
  expect(new Set(read.map(({ state }: any) => state))).toContain('steered');
  // Within a run, messages come in the order in which they were sent.
  const numberOf = (text: string) => Number(text.split(' ')[1]);
  const by_run = [...Map.groupBy(own, ({ task_id }) => task_id).values()].map((lines) =>
    lines.slice(1).map(({ content }) => numberOf(content)),
  );
  expect(by_run).toEqual(by_run.map((numbers) => numbers.toSorted((a, b) => a - b)));
}, 300_000);
