import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind } from '../support/machine/left-behind.ts';
import { type Answer, asks, fails, hangs, type ModelRequest, says } from '../support/peers/model-server.ts';
import { compareIn } from '../support/runs/comparison.ts';
import { reaches, toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const remembering = (options: Parameters<TestInstallation['workflow']>[0] = {}) =>
  here.workflow({ ...options, workflow: { remember: 'thread', ...options?.workflow } });
const put = (id: string, values: object) => here.alice.ok(here.alice.put(`/api/workflows/${id}`, values));
const read = (path: string) => here.alice.ok(here.alice.get(path));
const stop = (task_id: string) => here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
const allEnded = (ids: string[]) => Promise.all(ids.map((id) => here.ended(id)));

/** A thread whose first turn is in progress until it is halted, with a way to send more. */
async function busyThread(settings: object = {}) {
  const workflow_id = await remembering({ workflow: settings });
  return { workflow_id, ...(await beginBusy(workflow_id)) };
}

async function beginBusy(workflow_id: string) {
  const before = here.model.requests.length;
  here.model.script(hangs('Half of'));
  const first = await here.prompt(workflow_id, 'first');
  await until('its model is asked', async () => here.model.requests.length > before);
  return { first, send: (prompt: string, more: object = {}) => here.prompt(workflow_id, prompt, { thread_id: first, ...more }) };
}

/** What a model was sent, without the system prompt. */
const toLines = ({ messages }: ModelRequest) => messages.slice(1).map(({ role, content }) => `${role}: ${content}`);
const lastLines = () => toLines(here.model.requests.at(-1)!);
const chainOf = async (thread_id: string) =>
  (await read(`/api/tasks?thread_id=${thread_id}`))
    .map(({ thread_turn, id, previous_task_id }: any) => [thread_turn, id, previous_task_id])
    .reverse();

/** Answers with what was asked last, so that the answer names its prompt. */
const echoes: Answer = (response, request) => {
  const asked = String(request.messages.findLast(({ role }) => role === 'user')?.content);
  return (/older/.test(asked) ? hangs('Half of') : says(`To ${asked}.`))(response, request);
};

describe('the next turn', () => {
  it('reads nothing of one that was halted before it began, and the question of one that failed', async () => {
    const { first, send } = await busyThread();
    const [halted, failed, last] = [await send('second'), await send('third'), await send('fourth')];
    here.model.script(fails(400, { message: 'refused' }), says('Fine.'));
    await stop(halted);
    await stop(first);
    expect(await allEnded([first, halted, failed, last])).toMatchObject([
      ...[{ status: 'halted' }, { status: 'halted', started_at: null }, { status: 'failed' }, { response: 'Fine.' }],
    ]);
    expect(lastLines()).toEqual(['user: first', 'assistant: Half of', 'user: third', 'user: fourth']);
    expect(await chainOf(first)).toEqual([
      ...[
        [1, first, null],
        [2, halted, first],
        [3, failed, halted],
        [4, last, failed],
      ],
    ]);
  });

  it('waits for the approval of the one before, which the inbox lists; a denied call is read as it was answered', async () => {
    const id = await remembering({ tools: ['EFFECT = "write"\ndef pay(sum: int) -> int:\n    return sum\n'] });
    const { agent_id, name } = await toolOf(here, id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { sum: 17 } }));
    const first = await here.prompt(id, 'Pay 17.');
    await reaches(here, first, { status: 'waiting' });
    const second = await here.prompt(id, 'And?', { thread_id: first });
    expect(await read('/api/inbox')).toMatchObject([{ task_id: first, call_id: '1-1' }]);
    expect(await here.bob.ok(here.bob.get('/api/inbox'))).toEqual([]);
    expect((await here.bob.post(`/api/tasks/${first}/approvals/1-1`, { decision: 'approve' })).status).toBe(403);
    expect(await read(`/api/tasks/${second}`)).toMatchObject({ status: 'pending' });
    // The workflow itself has no run, and answers so.
    expect(await read(`/api/workflows/${id}`)).toMatchObject({ status: 'active', current_turn: 0 });
    expect((await here.alice.post(`/api/workflows/${id}/halt`)).body).toMatchObject({ code: 'nothing_running' });
    here.model.script(says('Not paid.'), says('Nothing.'));
    await here.alice.ok(here.alice.post(`/api/tasks/${first}/approvals/1-1`, { decision: 'deny' }));
    expect(await allEnded([first, second])).toMatchObject([{ response: 'Not paid.' }, { response: 'Nothing.' }]);
    const [call, result, answer, question] = here.model.requests.at(-1)!.messages.slice(2);
    expect(call!.tool_calls).toMatchObject([{ id: '1-1-1' }]);
    expect(result).toMatchObject({ role: 'tool', tool_call_id: '1-1-1', content: 'Denied by a person.' });
    expect([answer!.content, question!.content]).toEqual(['Not paid.', 'And?']);
  });

  it('that interrupts halts the one in progress; of several only the newest runs, and other threads continue', async () => {
    const { workflow_id, first, send } = await busyThread();
    const other = await beginBusy(workflow_id);
    const waits = await send('waits');
    here.model.always(echoes);
    const interrupting: string[] = [];
    for (const prompt of ['older 2', 'older 3', 'newest']) interrupting.push(await send(prompt, { on_busy: 'interrupt' }));
    const ended = await allEnded([first, ...interrupting, waits]);
    expect(ended.map(({ status }) => status)).toEqual(['halted', 'halted', 'halted', 'completed', 'completed']);
    expect(ended.slice(3).map(({ response }) => response)).toEqual(['To newest.', 'To waits.']);
    expect(await read(`/api/tasks/${other.first}`)).toMatchObject({ status: 'running' });
    expect(
      (await here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x', thread_id: other.first, on_busy: 'reject' }))
        .body,
    ).toMatchObject({ status: 409, code: 'workflow_busy' });
    await stop(other.first);
    await here.ended(other.first);
  });

  it('is one of twenty that clients send at the same time: they are answered in the order in which they were accepted', async () => {
    const { first, send } = await busyThread();
    here.model.always(echoes);
    const sent = await Promise.all(Array.from({ length: 20 }, (_, index) => send(`prompt ${index}`)));
    await stop(first);
    const ended = await Promise.all(sent.map((id) => here.ended(id, 90_000)));
    const turns = ended.sort((a, b) => a.thread_turn - b.thread_turn);
    expect(turns.map(({ thread_turn }) => thread_turn)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
    expect(turns.map(({ previous_task_id }) => previous_task_id)).toEqual([first, ...turns.slice(0, -1).map(({ id }) => id)]);
    expect(lastLines()).toEqual([
      ...['user: first', 'assistant: Half of'],
      ...turns.flatMap(({ prompt, response }) => [`user: ${prompt}`, `assistant: ${response}`]).slice(0, -1),
    ]);
  }, 120_000);
});

describe('a workflow with threads that is switched off', () => {
  it('ends the turns that have not begun, with the reason', async () => {
    const { workflow_id, first, send } = await busyThread();
    const queued = [await send('second'), await send('third')];
    await put(workflow_id, { status: 'inactive' });
    const end = { status: 'halted', error_code: 'workflow_inactive', started_at: null };
    expect(await allEnded(queued)).toMatchObject([end, end]);
    expect(await read(`/api/tasks/${first}`)).toMatchObject({ status: 'running' });
    await stop(first);
    await here.ended(first);
    await put(workflow_id, { status: 'active' });
    here.model.script(says('Again.'));
    expect(await here.ended(await send('fourth'))).toMatchObject({ response: 'Again.', thread_turn: 4 });
    expect(lastLines()).toEqual(['user: first', 'assistant: Half of', 'user: fourth']);
  });

  it('keeps them until it is switched on, if on_inactive is wait', async () => {
    const { workflow_id, first, send } = await busyThread({ on_inactive: 'wait' });
    const other = await beginBusy(workflow_id);
    const queued = [await send('second'), await send('third'), await other.send('fifth')];
    await put(workflow_id, { enabled: false });
    for (const id of [first, other.first]) await stop(id);
    await allEnded([first, other.first]);
    await compareIn(here, 60_000);
    expect((await Promise.all(queued.map((id) => read(`/api/tasks/${id}`)))).map(({ status }) => status)).toEqual([
      ...['pending', 'pending', 'pending'],
    ]);
    here.model.always(echoes);
    await put(workflow_id, { enabled: true });
    expect(await allEnded(queued)).toMatchObject([
      { response: 'To second.' },
      { response: 'To third.' },
      { response: 'To fifth.' },
    ]);
  });
});

it('with force a workflow is deleted while turns of several threads run and wait', async () => {
  const { workflow_id, first, send } = await busyThread();
  const other = await beginBusy(workflow_id);
  const ids = [first, other.first, await send('second')];
  const before = here.model.requests.length;
  expect((await here.alice.del(`/api/workflows/${workflow_id}?force=true`)).status).toBe(204);
  expect(await Promise.all(ids.map(async (id) => (await here.alice.get(`/api/tasks/${id}`)).status))).toEqual([404, 404, 404]);
  expect((await here.alice.get(`/api/threads/${first}`)).status).toBe(404);
  expect(here.model.requests).toHaveLength(before);
});

it('a raised budget of a workflow reaches the turns that wait for it, in each thread', async () => {
  const id = await remembering({ workflow: { budget: { max_tokens: 5, on_exhausted: 'wait' } } });
  here.model.always(says('Done.'));
  const waiting = [await here.prompt(id, 'one'), await here.prompt(id, 'two')];
  for (const task_id of waiting) await reaches(here, task_id, { status: 'waiting' });
  await put(id, { budget: { max_tokens: 10_007, on_exhausted: 'wait' } });
  expect(await allEnded(waiting)).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
});

describe('a prompt that the engine does not take', () => {
  const refuse = async <T>(work: () => Promise<T>): Promise<T> => {
    const { start } = here.driver.engine;
    Object.assign(here.driver.engine, {
      start: () => Promise.reject(new AppError('unavailable', 'The engine is down', { code: 'engine_unavailable' })),
    });
    try {
      return await work();
    } finally {
      Object.assign(here.driver.engine, { start });
    }
  };

  it('leaves no thread, and begins one when it is repeated with its key', async () => {
    const id = await remembering();
    const key = { 'Idempotency-Key': here.unique('key') };
    const send = () => here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' }, key);
    expect((await refuse(send)).status).toBe(503);
    expect(await read(`/api/threads?workflow_id=${id}`)).toEqual([]);
    here.model.script(says('Now.'));
    const { task_id, thread_id } = await here.alice.ok(send(), 201);
    expect(await here.ended(task_id)).toMatchObject({ response: 'Now.', thread_turn: 1, thread_id: task_id });
    expect(await read(`/api/threads?workflow_id=${id}`)).toMatchObject([{ id: thread_id, head_task_id: task_id }]);
  });

  it('leaves its thread as it was, with the turns that wait there', async () => {
    const { workflow_id, first, send } = await busyThread();
    const second = await send('second');
    const lost = await refuse(() =>
      here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'lost', thread_id: first }),
    );
    expect(lost.status).toBe(503);
    expect(await read(`/api/threads/${first}`)).toMatchObject({ head_task_id: second, active_task_id: first });
    const third = await send('third');
    here.model.always(echoes);
    await stop(first);
    expect(await allEnded([second, third])).toMatchObject([
      { response: 'To second.' },
      { response: 'To third.', thread_turn: 3 },
    ]);
    expect(lastLines().slice(2)).toEqual(['user: second', 'assistant: To second.', 'user: third']);
  });
});

describe('the reconciler', () => {
  it('starts a turn that the engine never had, which continues its thread', async () => {
    const id = await remembering();
    here.model.script(says('One.'));
    const first = await here.prompt(id, 'first');
    await here.ended(first);
    const lost = await leftBehind(here, id, { place: { thread_id: first } });
    here.model.script(says('Found.'));
    expect((await compareIn(here, 60_000)).restarted).toBe(1);
    expect(await here.ended(lost)).toMatchObject({ response: 'Found.', thread_turn: 2, previous_task_id: first });
    expect(lastLines()).toEqual(['user: first', 'assistant: One.', 'user: Left behind.']);
  });

  it('fails a turn whose run was ended in the engine, and lets the next one of its thread proceed', async () => {
    const { first, send } = await busyThread();
    const second = await send('second');
    here.model.script(says('Next.'));
    await here.driver.engine.terminate(first, 'by an operator');
    expect((await compareIn(here, 60_000)).lost).toBe(1);
    expect(await allEnded([first, second])).toMatchObject([{ status: 'failed', error_code: 'run_lost' }, { response: 'Next.' }]);
    expect(lastLines()).toEqual(['user: first', 'assistant: Half of', 'user: second']);
  });
});
