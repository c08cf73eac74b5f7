import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, type ModelRequest, says } from '../support/peers/model-server.ts';
import { reaches, toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const read = (path: string) => here.alice.ok(here.alice.get(path));
const stop = (task_id: string) => here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
const threadOf = async (options: Parameters<TestInstallation['workflow']>[0] = {}) => {
  const workflow_id = await here.workflow({
    ...options,
    workflow: { remember: 'thread', output_format: 'markdown', ...options?.workflow },
  });
  const { id } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
  return { id: id as string, workflow_id };
};
const post = (thread_id: string, message: string, more: object = {}) =>
  here.alice.post(`/api/threads/${thread_id}/messages`, { message, ...more });
const send = (thread_id: string, message: string, more: object = {}) => here.alice.ok(post(thread_id, message, more), 202);
const receipt = (thread_id: string, id: string) => read(`/api/threads/${thread_id}/messages/${id}`);
const settled = (thread_id: string, id: string) =>
  until(`the message ${id} has a final state`, async () => {
    const now = await receipt(thread_id, id);
    return now.state !== 'pending' && now;
  });

/** What a model was sent, without the system prompt. */
const toLines = ({ messages }: ModelRequest) =>
  messages.slice(1).map(({ role, content, tool_calls }) => `${role}: ${tool_calls ? 'calls' : content}`);
const lastLines = () => toLines(here.model.requests.at(-1)!);

/** A thread whose turn is answered when `finish` is called. */
async function busyThread(answer = 'Five.', options: Parameters<typeof threadOf>[0] = {}) {
  const thread = await threadOf(options);
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  const before = here.model.requests.length;
  here.model.script(says(`${answer} And`, { until: promise }));
  const first = await send(thread.id, 'Two and three?');
  await until('its model is asked', async () => here.model.requests.length > before);
  return { ...thread, first, finish };
}

describe('a message to a thread', () => {
  it('starts a turn at once if none is in progress', async () => {
    const { id } = await threadOf();
    here.model.script(says('Seven.'));
    const sent = await send(id, 'Three and four?', { metadata: { from: 'test' } });
    expect(sent).toMatchObject({ thread_id: id, task_id: sent.id, when_busy: 'enqueue', step: null, reason: null });
    expect(await here.ended(sent.id)).toMatchObject({ response: 'Seven.', thread_id: id, trigger: 'thread' });
    expect(await receipt(id, sent.id)).toMatchObject({
      state: 'started',
      message: 'Three and four?',
      metadata: { from: 'test' },
      attachments: [],
    });
  });

  it('waits for its turn with enqueue, ends the turn with interrupt, and is refused with reject', async () => {
    const { id, first, finish } = await busyThread();
    const queued = await send(id, 'queued');
    expect(queued).toMatchObject({ state: 'pending', task_id: queued.id });
    const refused = await post(id, 'refused', { when_busy: 'reject' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'workflow_busy' } });
    here.model.script(says('Stopped.'), says('Queued.'));
    const interrupting = await send(id, 'interrupting', { when_busy: 'interrupt' });
    expect(await here.ended(first.id)).toMatchObject({ status: 'halted', response: 'Five. ' });
    expect(await here.ended(queued.id)).toMatchObject({ response: 'Queued.' });
    expect(await here.ended(interrupting.id)).toMatchObject({ response: 'Stopped.' });
    finish();
    const listed = await read(`/api/threads/${id}/messages`);
    expect(listed.map(({ message, state }: any) => [message, state])).toEqual([
      ['interrupting', 'started'],
      ['queued', 'started'],
      ['Two and three?', 'started'],
    ]);
  });

  it('is withdrawn by its author before its turn begins, and not afterwards', async () => {
    const { id, first, finish } = await busyThread();
    const queued = await send(id, 'queued');
    const later = await send(id, 'later');
    expect(await here.alice.ok(here.alice.del(`/api/threads/${id}/messages/${queued.id}`))).toMatchObject({ state: 'withdrawn' });
    expect(await here.alice.ok(here.alice.del(`/api/threads/${id}/messages/${queued.id}`))).toMatchObject({ state: 'withdrawn' });
    here.model.script(says('Later.'));
    finish();
    expect(await here.ended(later.id)).toMatchObject({ response: 'Later.' });
    expect(await here.ended(queued.id)).toMatchObject({ status: 'halted', started_at: null });
    expect(await receipt(id, queued.id)).toMatchObject({ state: 'withdrawn' });
    const late = await here.alice.del(`/api/threads/${id}/messages/${first.id}`);
    expect(late).toMatchObject({ status: 409, body: { code: 'message_started' } });
    expect(lastLines()).toEqual(['user: Two and three?', 'assistant: Five. And', 'user: later']);
  });

  it('is refused if its turn is stopped before it begins', async () => {
    const { id, first, finish } = await busyThread();
    const queued = await send(id, 'queued');
    await stop(queued.id);
    finish();
    await here.ended(first.id);
    await here.ended(queued.id);
    expect(await receipt(id, queued.id)).toMatchObject({ state: 'refused', reason: 'The turn was stopped before it began' });
  });

  it('is read and withdrawn by its owner only, and found only in its thread', async () => {
    const { id } = await threadOf();
    const other = await threadOf();
    here.model.script(says('Seven.'));
    const sent = await send(id, 'Three and four?');
    await here.ended(sent.id);
    for (const [method, path] of [
      ['get', `/api/threads/${id}/messages`],
      ['get', `/api/threads/${id}/messages/${sent.id}`],
      ['del', `/api/threads/${id}/messages/${sent.id}`],
      ['get', `/api/tasks/${sent.id}/messages/${sent.id}`],
      ['del', `/api/tasks/${sent.id}/messages/${sent.id}`],
    ] as const)
      expect((await here.bob[method](path)).status).toBe(403);
    expect((await here.bob.post(`/api/threads/${id}/messages`, { message: 'x' })).status).toBe(403);
    expect((await here.alice.get(`/api/threads/${other.id}/messages/${sent.id}`)).status).toBe(404);
    expect(await read(`/api/threads/${other.id}/messages`)).toEqual([]);
  });

  it('is one message if its request is repeated with the same Idempotency-Key', async () => {
    const { id, finish, first } = await busyThread();
    const headers = { 'idempotency-key': `steer-${id}` };
    const body = { message: 'once', when_busy: 'steer' };
    const path = `/api/threads/${id}/messages`;
    const one = await here.alice.post(path, body, headers);
    const again = await here.alice.post(path, body, headers);
    expect([one.status, again.status]).toEqual([202, 200]);
    expect(again.body.id).toBe(one.body.id);
    here.model.script(says('Once.'));
    finish();
    expect(await here.ended(first.id)).toMatchObject({ response: 'Once.', steps: 2 });
    expect(await read(path)).toHaveLength(2);
  });
});

const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n';

describe('a message that steers', () => {
  it('is read after the results of the round, and is in the stream, the transcript and the steps', async () => {
    const { id, workflow_id } = await threadOf({ tools: [ADD] });
    const { name } = await toolOf(here, workflow_id);
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    const before = here.model.requests.length;
    here.model.script(async (response, request) => {
      await promise;
      return asks({ name, args: { a: 2, b: 3 } })(response, request);
    }, says('Five, in words.'));
    const first = await send(id, 'Add 2 and 3.');
    await until('its model is asked', async () => here.model.requests.length > before);
    const steer = await send(id, 'In words.', { when_busy: 'steer' });
    expect(steer).toMatchObject({ state: 'pending', task_id: first.id, when_busy: 'steer', message: 'In words.' });
    expect((await read(`/api/tasks/${first.id}`)).waiting_messages).toMatchObject([{ id: steer.id, message: 'In words.' }]);
    finish();
    expect(await here.ended(first.id)).toMatchObject({ response: 'Five, in words.', steps: 2, usage: { total_in: 20 } });
    expect(lastLines()).toEqual(['user: Add 2 and 3.', 'assistant: calls', 'tool: {"result": 5}', 'user: In words.']);
    expect(await receipt(id, steer.id)).toMatchObject({ state: 'steered', task_id: first.id, step: 2 });
    const { messages, waiting_messages } = await read(`/api/tasks/${first.id}`);
    expect(messages.map(({ kind }: any) => kind)).toEqual(['prompt', 'reply', 'result', 'steer', 'reply']);
    expect(waiting_messages).toEqual([]);
    const steps = await read(`/api/tasks/${first.id}/steps`);
    expect(steps[1].input.map(({ kind }: any) => kind)).toEqual(['result', 'steer']);
    const events = await here.events(first.id);
    expect(events.filter(({ data }) => data.message_id === steer.id).map(({ type, data }) => [type, data])).toMatchObject([
      ['log', { event: 'message_waiting', detail: 'In words.' }],
      ['message', { role: 'user', kind: 'steer', content: 'In words.', step: 2 }],
    ]);
  });

  it('gets one more exchange if the model has answered in the meantime, and the next turn reads both', async () => {
    const { id, first, finish } = await busyThread();
    const steers = [await send(id, 'In words.', { when_busy: 'steer' }), await send(id, 'In French.', { when_busy: 'steer' })];
    here.model.script(says('Cinq.'), says('Done.'));
    finish();
    const task = await here.ended(first.id);
    expect(task).toMatchObject({ status: 'completed', response: 'Cinq.', steps: 2 });
    expect(lastLines()).toEqual(['user: Two and three?', 'assistant: Five. And', 'user: In words.', 'user: In French.']);
    for (const { id: message_id } of steers)
      expect(await receipt(id, message_id)).toMatchObject({ state: 'steered', task_id: first.id, step: 2 });
    const next = await send(id, 'And now?');
    await here.ended(next.id);
    expect(lastLines()).toEqual([
      ...['user: Two and three?', 'assistant: Five. And', 'user: In words.', 'user: In French.', 'assistant: Cinq.'],
      'user: And now?',
    ]);
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${first.id}/fork`, { from_step: 2, effects: 'stub' }), 201);
    here.model.script(says('Fünf.'));
    expect(await here.ended(fork.task_id)).toMatchObject({ response: 'Fünf.', steps: 2 });
    expect(lastLines()).toEqual(['user: Two and three?', 'assistant: Five. And', 'user: In words.', 'user: In French.']);
    const bundle = await read(`/api/tasks/${first.id}/bundle`);
    expect(bundle.steps.map(({ input }: any) => input.messages)).toEqual([1, 4]);
  });

  it('waits with a run that waits for a person', async () => {
    const { id, workflow_id } = await threadOf({ tools: ['EFFECT = "write"\ndef pay(sum: int) -> int:\n    return sum\n'] });
    const { agent_id, name } = await toolOf(here, workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { sum: 17 } }), says('Paid.'));
    const first = await send(id, 'Pay 17.');
    await reaches(here, first.id, { status: 'waiting' });
    const steer = await send(id, 'Then stop.', { when_busy: 'steer' });
    const task = await read(`/api/tasks/${first.id}`);
    expect(task).toMatchObject({ status: 'waiting', waiting_messages: [{ id: steer.id, state: 'pending' }] });
    await here.alice.ok(here.alice.post(`/api/tasks/${first.id}/approvals/1-1`, { decision: 'approve' }));
    expect(await here.ended(first.id)).toMatchObject({ response: 'Paid.' });
    expect(lastLines()).toEqual(['user: Pay 17.', 'assistant: calls', 'tool: {"result": 17}', 'user: Then stop.']);
    expect(await receipt(id, steer.id)).toMatchObject({ state: 'steered', step: 2 });
  });

  it('that is withdrawn in time is read by nobody', async () => {
    const { id, first, finish } = await busyThread();
    const steer = await send(id, 'In words.', { when_busy: 'steer' });
    expect(await here.alice.ok(here.alice.del(`/api/threads/${id}/messages/${steer.id}`))).toMatchObject({ state: 'withdrawn' });
    finish();
    expect(await here.ended(first.id)).toMatchObject({ response: 'Five. And', steps: 1 });
    expect(await receipt(id, steer.id)).toMatchObject({ state: 'withdrawn', step: null });
  });

  it('is refused if a person stops the run first', async () => {
    const { id, first, finish } = await busyThread();
    const steer = await send(id, 'In words.', { when_busy: 'steer' });
    await stop(first.id);
    expect(await here.ended(first.id)).toMatchObject({ status: 'halted' });
    finish();
    expect(await receipt(id, steer.id)).toMatchObject({
      state: 'refused',
      reason: 'The run was stopped before it read this message; send the message again',
    });
    expect(await read(`/api/threads/${id}`)).toMatchObject({ active_task_id: null, head_task_id: first.id });
  });

  it('begins the next turn if the run fails first, and others wait for that', async () => {
    const { id, workflow_id } = await threadOf();
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    const before = here.model.requests.length;
    here.model.script(async (response, request) => {
      await promise;
      return fails(400, { message: 'refused' })(response, request);
    }, says('Both.'));
    const first = await send(id, 'Two and three?');
    await until('its model is asked', async () => here.model.requests.length > before);
    const steer = await send(id, 'In words.', { when_busy: 'steer' });
    const other = await send(id, 'In French.', { when_busy: 'steer' });
    finish();
    expect(await here.ended(first.id)).toMatchObject({ status: 'failed' });
    expect(await settled(id, steer.id)).toMatchObject({ state: 'started', task_id: steer.id });
    const next = await here.ended(steer.id);
    expect(next).toMatchObject({
      response: 'Both.',
      prompt: 'In words.',
      thread_turn: 2,
      previous_task_id: first.id,
      thread_id: id,
    });
    expect(await receipt(id, other.id)).toMatchObject({ state: 'steered', task_id: next.id, step: 1 });
    expect(lastLines()).toEqual(['user: Two and three?', 'user: In words.', 'user: In French.']);
    expect(await read(`/api/workflows/${workflow_id}`)).toMatchObject({ task_count: 2, last_task_status: 'completed' });
  });

  it('goes to the turn that interrupts the run', async () => {
    const { id, first, finish } = await busyThread();
    const steer = await send(id, 'In words.', { when_busy: 'steer' });
    here.model.script(says('Eleven.'));
    const interrupting = await send(id, 'Rather five and six.', { when_busy: 'interrupt' });
    expect(await here.ended(first.id)).toMatchObject({ status: 'halted' });
    expect(await here.ended(interrupting.id)).toMatchObject({ response: 'Eleven.' });
    finish();
    expect(await receipt(id, steer.id)).toMatchObject({ state: 'steered', task_id: interrupting.id, step: 1 });
  });

  it('is refused by a guardrail as a prompt would be, and nothing is stored', async () => {
    const guardrail = await here.alice.ok(
      here.alice.post('/api/guardrails', {
        name: here.unique('no-mars'),
        guardrail_type: 'prompt',
        config: { forbidden_patterns: ['Mars'] },
      }),
      201,
    );
    const { id, first, finish } = await busyThread('Five.', { workflow: { guardrail_ids: [guardrail.id] } });
    const refused = await post(id, 'Fly to Mars.', { when_busy: 'steer' });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'message' }] } });
    finish();
    expect(await here.ended(first.id)).toMatchObject({ steps: 1 });
    expect(await read(`/api/threads/${id}/messages`)).toHaveLength(1);
  });

  it('brings its files', async () => {
    const { id, first, finish } = await busyThread();
    const file = { name: 'a.txt', data: `data:text/plain;base64,${Buffer.from('seventeen').toString('base64')}` };
    const steer = await send(id, 'Add this.', { when_busy: 'steer', attachments: [file] });
    expect(steer.attachments).toMatchObject([{ name: 'a.txt' }]);
    here.model.script(says('22.'));
    finish();
    await here.ended(first.id);
    expect(lastLines().at(-1)).toBe('user: Add this.\n\n<file name="a.txt">\nseventeen\n</file>');
    const removal = await here.alice.del(`/api/attachments/${steer.attachments[0].id}`);
    expect(removal).toMatchObject({ status: 409, body: { code: 'attachment_in_use' } });
  });

  it('starts a turn if none is in progress', async () => {
    const { id } = await threadOf();
    here.model.script(says('Seven.'));
    const sent = await send(id, 'Three and four?', { when_busy: 'steer' });
    expect(await here.ended(sent.id)).toMatchObject({ response: 'Seven.' });
    expect(await receipt(id, sent.id)).toMatchObject({ state: 'started', when_busy: 'steer' });
  });
});

it('a message that forks is read by a turn next to the one in progress, which becomes the branch in use', async () => {
  const { id, first, finish } = await busyThread();
  here.model.script(says('Eleven.'), says('Twelve.'));
  const forked = await send(id, 'Or five and six?', { when_busy: 'fork' });
  const sibling = await here.ended(forked.id);
  expect(sibling).toMatchObject({
    response: 'Eleven.',
    thread_id: id,
    thread_turn: 1,
    forked_from: { task_id: first.id, step: 1 },
  });
  expect(lastLines()).toEqual(['user: Two and three?', 'user: Or five and six?']);
  expect(await receipt(id, forked.id)).toMatchObject({ state: 'started', message: 'Or five and six?', when_busy: 'fork' });
  expect(await read(`/api/tasks/${first.id}`)).toMatchObject({ status: 'running' });
  finish();
  await here.ended(first.id);
  const next = await send(id, 'And one?');
  await here.ended(next.id);
  expect(lastLines()).toEqual(['user: Two and three?', 'user: Or five and six?', 'assistant: Eleven.', 'user: And one?']);
});

describe('a prompt with on_busy steer', () => {
  it('starts a run of a workflow without threads, or is read by the one in progress: then its receipt is the answer', async () => {
    const workflow_id = await here.workflow({ workflow: { output_format: 'markdown', on_busy: 'steer' } });
    const prompt = (text: string) => here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: text });
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    const before = here.model.requests.length;
    here.model.script(says('Five. And', { until: promise }), says('Cinq.'));
    const { body: started, status } = await prompt('Two and three?');
    expect(status).toBe(201);
    await until('its model is asked', async () => here.model.requests.length > before);
    const steered = await prompt('In French.');
    expect(steered).toMatchObject({ status: 202, body: { state: 'pending', task_id: started.task_id, thread_id: null } });
    finish();
    expect(await here.ended(started.task_id)).toMatchObject({ response: 'Cinq.', steps: 2 });
    const path = `/api/tasks/${started.task_id}/messages/${steered.body.id}`;
    expect(await read(path)).toMatchObject({ state: 'steered', step: 2, when_busy: 'steer' });
    expect((await here.bob.get(path)).status).toBe(403);
  });

  it('begins the next run if the one in progress fails before it reads it', async () => {
    const workflow_id = await here.workflow({ workflow: { output_format: 'markdown' } });
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    const before = here.model.requests.length;
    here.model.script(async (response, request) => {
      await promise;
      return fails(400, { message: 'refused' })(response, request);
    }, says('Cinq.'));
    const first = await here.prompt(workflow_id, 'Two and three?');
    await until('its model is asked', async () => here.model.requests.length > before);
    const steered = await here.alice.ok(
      here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'In French.', on_busy: 'steer' }),
      202,
    );
    finish();
    expect(await here.ended(first)).toMatchObject({ status: 'failed' });
    expect(await here.ended(steered.id)).toMatchObject({ response: 'Cinq.', thread_id: null, previous_task_id: null });
    expect(await read(`/api/tasks/${first}/messages/${steered.id}`)).toMatchObject({ state: 'started', task_id: steered.id });
    expect(await read(`/api/workflows/${workflow_id}`)).toMatchObject({ status: 'completed', task_count: 2 });
  });
});

it('a run that hangs keeps a message until it is stopped', async () => {
  const { id } = await threadOf();
  const before = here.model.requests.length;
  here.model.script(hangs('Half'));
  const first = await send(id, 'Two and three?');
  await until('its model is asked', async () => here.model.requests.length > before);
  const steer = await send(id, 'Continue.', { when_busy: 'steer' });
  expect(await receipt(id, steer.id)).toMatchObject({ state: 'pending' });
  await stop(first.id);
  await here.ended(first.id);
  expect(await receipt(id, steer.id)).toMatchObject({ state: 'refused' });
});
