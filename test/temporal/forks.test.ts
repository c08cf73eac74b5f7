import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-forks-'));
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

let made = 0;
/** A tool that appends what it is given to a file, and says how often it has been called. */
function counting(effect: 'read' | 'write') {
  const file = join(folder, `calls-${++made}`);
  const source = `EFFECT = "${effect}"\ndef ${effect}_it(word: str) -> str:\n    with open(${JSON.stringify(file)}, "a+") as f:\n        f.write(word + "\\n")\n        f.seek(0)\n        return word + " " + str(len(f.readlines()))\n`;
  const calls = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean);
  return { source, calls };
}

/** A completed run: it writes and reads at step 1, writes at step 2, and answers at step 3. */
async function source(workflow: object = {}) {
  const [write, read] = [counting('write'), counting('read')];
  const workflow_id = await here.workflow({ tools: [write.source, read.source], workflow: { max_turns: 20, ...workflow } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const names = await Promise.all(
    custom_tool_ids.map(async (id: string) => (await here.alice.ok(here.alice.get(`/api/custom-tools/${id}`))).name),
  );
  const [w, r] = names as [string, string];
  here.model.script(
    asks({ name: w, args: { word: 'one' } }, { name: r, args: { word: 'look' } }),
    asks({ name: w, args: { word: 'two' } }),
    says('Source done.'),
  );
  const task_id = await here.prompt(workflow_id, 'Count.');
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', forked_from: null, turns: 3 });
  return { task_id, workflow_id, w, r, write, read };
}

const fork = async (task_id: string, body: object, key?: string) => {
  return here.alice.post(`/api/tasks/${task_id}/fork`, body, key ? { 'idempotency-key': key } : undefined);
};
const forked = async (task_id: string, body: object) => (await here.alice.ok(fork(task_id, body), 201)).task_id as string;
const stepsOf = (task_id: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`)) as Promise<any[]>;
const callsOf = async (task_id: string, step: number) => (await stepsOf(task_id)).find((it) => it.step === step).tool_calls;
const sentLast = () => here.model.requests.at(-1)!.messages;

describe('a fork', () => {
  it('starts with the messages that the model got before the step, does not pay for them again, and names its source run', async () => {
    const { task_id, workflow_id, write } = await source();
    const asked = here.model.requests.length;
    const before = here.model.requests.at(-1)!.messages;
    here.model.script(says('Another end.'));
    const answer = await fork(task_id, { from_step: 3 });
    const forked_from = { task_id, step: 3, effects: 'recorded' };
    expect(answer).toMatchObject({ status: 201, body: { workflow_id, status: 'pending', prompt: 'Count.', forked_from } });
    const ended = await here.ended(answer.body.task_id);
    expect(ended).toMatchObject({
      status: 'completed',
      response: 'Another end.',
      trigger: 'fork',
      forked_from,
      turns: 3,
      steps: 3,
    });
    expect(ended.usage.total_in).toBe(10);
    expect(here.model.requests).toHaveLength(asked + 1);
    expect(sentLast()).toEqual(before);
    expect(await write.calls()).toEqual(['one', 'two']);
    const [first, second, third] = await stepsOf(answer.body.task_id);
    expect([first.copied, second.copied, third.copied]).toEqual([true, true, false]);
    expect(first).toMatchObject({
      usage: { total_in: 0 },
      tool_calls: [{ answered_by: 'recorded', attempts: 0, result: '{"result": "one 1"}' }, {}],
    });
    const { logs, status } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    expect(status).toBe('completed');
    expect(logs.map(({ event }: { event: string }) => event)).toContain('forked');
  });

  it('under `recorded` has equal calls answered by the record, refuses other writes, and carries out other reads', async () => {
    const { task_id, w, r, write, read } = await source();
    here.model.script(
      asks({ name: w, args: { word: 'two' } }, { name: w, args: { word: 'new' } }, { name: r, args: { word: 'new' } }),
      asks({ name: w, args: '{ "word" :  "two" }' }, { name: w, args: { word: 'one' } }),
      says('Done.'),
    );
    const id = await forked(task_id, { from_step: 2, effects: 'recorded' });
    expect(await here.ended(id)).toMatchObject({ status: 'completed', response: 'Done.' });
    expect(await callsOf(id, 2)).toMatchObject([
      { answered_by: 'recorded', result: '{"result": "two 2"}', failed: false, attempts: 0 },
      { answered_by: 'refused', failed: true, attempts: 0, result: expect.stringContaining('Not called') },
      { answered_by: null, result: '{"result": "new 2"}', attempts: 1 },
    ]);
    // The same arguments in another spelling; and a call that the source made only before the step.
    expect(await callsOf(id, 3)).toMatchObject([
      { answered_by: 'recorded', result: '{"result": "two 2"}' },
      { answered_by: 'refused' },
    ]);
    expect(await write.calls()).toEqual(['one', 'two']);
    expect(await read.calls()).toEqual(['look', 'new']);
  });

  it('under `stub` calls no tool at all', async () => {
    const { task_id, w, r, write, read } = await source();
    here.model.script(asks({ name: w, args: { word: 'one' } }, { name: r, args: { word: 'new' } }), says('Done.'));
    const id = await forked(task_id, { from_step: 1, effects: 'stub' });
    expect(await here.ended(id)).toMatchObject({ status: 'completed' });
    expect(await callsOf(id, 1)).toMatchObject([
      { answered_by: 'recorded', result: '{"result": "one 1"}' },
      { answered_by: 'stub', failed: false, result: expect.stringContaining('Stub') },
    ]);
    expect([await write.calls(), await read.calls()]).toEqual([['one', 'two'], ['look']]);
  });

  it('under `live` carries out every call', async () => {
    const { task_id, w, write } = await source();
    here.model.script(asks({ name: w, args: { word: 'two' } }), says('Done.'));
    const id = await forked(task_id, { from_step: 2, effects: 'live' });
    expect(await here.ended(id)).toMatchObject({ status: 'completed' });
    expect(await callsOf(id, 2)).toMatchObject([{ answered_by: null, attempts: 1, result: '{"result": "two 3"}' }]);
    expect(await write.calls()).toEqual(['one', 'two', 'two']);
  });

  it("sends its own prompt before the step; at step 1 it replaces the source run's prompt", async () => {
    const { task_id } = await source();
    here.model.script(says('Answered.'));
    const late = await forked(task_id, { from_step: 3, prompt: 'Now say it in French.' });
    expect(await here.ended(late)).toMatchObject({ prompt: 'Count.', response: 'Answered.' });
    expect(sentLast().map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'tool',
      'user',
    ]);
    expect(sentLast().at(-1)!.content).toBe('Now say it in French.');
    here.model.script(says('Answered again.'));
    const first = await forked(task_id, { from_step: 1, prompt: 'Something else.' });
    expect(await here.ended(first)).toMatchObject({ prompt: 'Something else.', forked_from: { step: 1 } });
    expect(sentLast().slice(1)).toEqual([{ role: 'user', content: 'Something else.' }]);
  });

  it('is forked itself, from what it copied and from what it did', async () => {
    const { task_id, w, write } = await source();
    here.model.script(asks({ name: w, args: { word: 'three' } }), says('Fork done.'));
    const child = await forked(task_id, { from_step: 3, effects: 'live', prompt: 'Continue.' });
    await here.ended(child);
    here.model.script(asks({ name: w, args: { word: 'three' } }, { name: w, args: { word: 'two' } }), says('Grandchild done.'));
    const grandchild = await forked(child, { from_step: 3, effects: 'recorded' });
    expect(await here.ended(grandchild)).toMatchObject({
      response: 'Grandchild done.',
      forked_from: { task_id: child, step: 3 },
    });
    expect(sentLast().filter(({ content }) => content === 'Continue.')).toHaveLength(1);
    expect(await callsOf(grandchild, 3)).toMatchObject([{ answered_by: 'recorded' }, { answered_by: 'refused' }]);
    here.model.script(asks({ name: w, args: { word: 'two' } }), says('From the copies.'));
    const other = await forked(child, { from_step: 2, effects: 'recorded' });
    await here.ended(other);
    expect(await callsOf(other, 2)).toMatchObject([{ answered_by: 'recorded', result: '{"result": "two 2"}' }]);
    expect(await write.calls()).toEqual(['one', 'two', 'three']);
  });

  it('counts the turns before it, and is denied calls beyond max_turns like its source run', async () => {
    const { task_id, w } = await source({ max_turns: 3 });
    here.model.script(asks({ name: w, args: { word: 'two' } }, { name: w, args: { word: 'more' } }), says('Done.'));
    const id = await forked(task_id, { from_step: 2 });
    expect(await here.ended(id)).toMatchObject({ status: 'completed', turns: 3, turn_limit_reached: true });
    expect(await callsOf(id, 2)).toMatchObject([{ status: 'done' }, { status: 'denied', answered_by: null }]);
  });

  it('needs no approval for a call that is not made', async () => {
    const { source: code, calls } = counting('write');
    const workflow_id = await here.workflow({ tools: [code] });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { word: 'paid' } }), says('Done.'));
    const task_id = await here.prompt(workflow_id);
    await until('the approval', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status === 'waiting');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    await here.ended(task_id);
    here.model.script(asks({ name, args: { word: 'paid' } }), says('Done.'));
    const id = await forked(task_id, { from_step: 1 });
    expect(await here.ended(id)).toMatchObject({ status: 'completed' });
    expect(await callsOf(id, 1)).toMatchObject([{ answered_by: 'recorded', approval: true, result: '{"result": "paid 1"}' }]);
    expect(await calls()).toEqual(['paid']);
  });
});

describe('the record of a run', () => {
  const datasetCallsOf = async (task_id: string) => {
    const { id } = await here.alice.ok(here.alice.post('/api/datasets', { name: `dataset ${++made}` }), 201);
    return (await here.alice.ok(here.alice.post(`/api/datasets/${id}/items`, { task_id }), 201)).calls as { content: string }[];
  };

  const ANSWERS = { recorded: 'refused', stub: 'stub' } as const;
  const MODES = ['recorded', 'stub'] as const;
  const PAIRS = MODES.flatMap((first) => MODES.map((second) => [first, second] as const));

  it.each(PAIRS)(
    'holds what its tools returned, not what a fork under `%s` answered instead: its fork under `%s`',
    async (first, second) => {
      const { task_id, w, write } = await source();
      const known = { name: w, args: { word: 'two' } };
      const unknown = { name: w, args: { word: 'never called' } };
      here.model.script(asks(unknown, known), says('Fork done.'));
      const child = await forked(task_id, { from_step: 1, effects: first });
      await here.ended(child);
      expect(await callsOf(child, 1)).toMatchObject([{ answered_by: ANSWERS[first] }, { answered_by: 'recorded' }]);
      here.model.script(asks(known, unknown), says('Grandchild done.'));
      const grandchild = await forked(child, { from_step: 1, effects: second });
      await here.ended(grandchild);
      expect(await callsOf(grandchild, 1)).toMatchObject([
        { answered_by: 'recorded', result: '{"result": "two 2"}' },
        { answered_by: ANSWERS[second], result: expect.stringContaining(second === 'stub' ? 'Stub' : 'Not called') },
      ]);
      expect((await datasetCallsOf(child)).map(({ content }) => content)).toEqual(['{"result": "two 2"}']);
      expect(await write.calls()).toEqual(['one', 'two']);
    },
  );

  it.each(MODES)(
    'holds no outcome that is not known: a fork under `%s` of a run that was halted during a call',
    async (effects) => {
      const quick = counting('write');
      const slow = 'import time\nEFFECT = "write"\ndef slow(word: str) -> str:\n    time.sleep(600)\n    return word\n';
      const workflow_id = await here.workflow({ tools: [quick.source, slow] });
      const [slow_name, quick_name] = (await here.alice.ok(here.alice.get('/api/custom-tools?limit=2'))).map(
        ({ name }: { name: string }) => name,
      );
      const [done, open] = [
        { name: quick_name, args: { word: 'paid' } },
        { name: slow_name, args: { word: 'sent' } },
      ];
      here.model.script(asks(done, open));
      const task_id = await here.prompt(workflow_id);
      await until('one result and one call in progress', async () => {
        const calls = (await stepsOf(task_id))[0]?.tool_calls ?? [];
        return calls[0]?.result && calls[1]?.attempts === 1;
      });
      await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/halt`));
      expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
      expect(await callsOf(task_id, 1)).toMatchObject([
        { result: '{"result": "paid 1"}' },
        { status: 'done', result: OUTCOME_UNKNOWN },
      ]);
      here.model.script(asks(open, done), says('Done.'));
      const id = await forked(task_id, { from_step: 1, effects });
      expect(await here.ended(id)).toMatchObject({ status: 'completed' });
      expect(await callsOf(id, 1)).toMatchObject([
        { answered_by: ANSWERS[effects] },
        { answered_by: 'recorded', result: '{"result": "paid 1"}' },
      ]);
      expect((await datasetCallsOf(task_id)).map(({ content }) => content)).toEqual(['{"result": "paid 1"}']);
    },
  );
});

describe('a fork is refused', () => {
  it('if there is no such step, if the body is wrong, and to callers who do not own the run', async () => {
    const { task_id } = await source();
    const none = await fork(task_id, { from_step: 4 });
    expect(none).toMatchObject({ status: 422, body: { code: 'no_such_step', errors: [{ path: 'from_step' }] } });
    expect(none.body.detail).toContain('choose one from 1 to 3');
    for (const body of [{}, { from_step: 0 }, { from_step: 'x' }, { from_step: 1, effects: 'all' }, { from_step: 1, prompt: '' }])
      expect(await fork(task_id, body)).toMatchObject({ status: 422, body: { code: 'invalid_fields' } });
    expect((await here.bob.post(`/api/tasks/${task_id}/fork`, { from_step: 1 })).status).toBe(403);
    const unknown = await fork('01900000-0000-7000-8000-000000000000', { from_step: 1 });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it('by a guardrail that the workflow was given since', async () => {
    const { task_id, workflow_id } = await source();
    const values = { name: `no gold ${++made}`, guardrail_type: 'prompt', config: { forbidden_patterns: ['gold'] } };
    const { id } = await here.alice.ok(here.alice.post('/api/guardrails', values));
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { guardrail_ids: [id] }));
    expect(await fork(task_id, { from_step: 2, prompt: 'Find gold.' })).toMatchObject({
      status: 422,
      body: { code: 'guardrail_blocked' },
    });
  });

  it('where the vendor keeps the conversation', async () => {
    const { task_id } = await source();
    await here.core.database.pool.query(
      `UPDATE definitions SET body = jsonb_set(body, '{provider}', body -> 'provider' || '{"provider_type": "anthropic", "base_url": null}')
        WHERE hash = (SELECT definition_hash FROM tasks WHERE id = $1)`,
      [task_id],
    );
    const { database_url, encryption_keys } = here.setting;
    const apart = await startTestInstallation({ worker: false, setting: { database_url, encryption_keys } });
    try {
      const answer = await apart.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 1 });
      expect(answer).toMatchObject({ status: 422, body: { code: 'fork_unsupported' } });
    } finally {
      await apart.stop();
    }
  });
});

it('is one fork for one Idempotency-Key, and waits for its lane or is rejected as a prompt is', async () => {
  const { task_id, workflow_id } = await source();
  here.model.script(hangs('Busy'), says('Second.'));
  const holder = await here.prompt(workflow_id, 'Take the lane.');
  await until('the lane', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${holder}`))).status === 'running');
  expect(await fork(task_id, { from_step: 3, on_busy: 'reject' })).toMatchObject({
    status: 409,
    body: { code: 'workflow_busy' },
  });
  const first = await fork(task_id, { from_step: 3 }, 'one-fork');
  const again = await fork(task_id, { from_step: 3 }, 'one-fork');
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body).toEqual(first.body);
  expect((await here.alice.ok(here.alice.get(`/api/tasks/${first.body.task_id}`))).status).toBe('pending');
  await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/halt`));
  expect(await here.ended(first.body.task_id)).toMatchObject({ status: 'completed', response: 'Second.' });
});

it('copies the steps so far of a run that is still running', async () => {
  const { source: code } = counting('write');
  const workflow_id = await here.workflow({ tools: [code] });
  const tool = (await here.alice.ok(here.alice.get('/api/custom-tools?limit=1')))[0].name as string;
  here.model.script(asks({ name: tool, args: { word: 'x' } }), hangs('Thinking'));
  const task_id = await here.prompt(workflow_id);
  await until('step 2', async () => (await stepsOf(task_id)).length === 2);
  expect((await fork(task_id, { from_step: 3 })).status).toBe(422);
  here.model.script(says('Quicker.'));
  const id = await forked(task_id, { from_step: 2, on_busy: 'interrupt' });
  expect(await here.ended(id)).toMatchObject({ status: 'completed', response: 'Quicker.' });
  expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
});

it('continues after kill -9 of its worker, with nothing answered twice and no write executed', async () => {
  const lone = await startTestInstallation({ worker: false });
  const env = { TOOL_ISOLATION: 'none' };
  let worker = await startWorkerProcess(lone.setting, env);
  try {
    const { source: code, calls } = counting('write');
    const workflow_id = await lone.workflow({ tools: [code] });
    const name = (await lone.alice.ok(lone.alice.get('/api/custom-tools?limit=1')))[0].name as string;
    lone.model.script(asks({ name, args: { word: 'a' } }), asks({ name, args: { word: 'b' } }), says('Done.'));
    const task_id = await lone.prompt(workflow_id);
    await lone.ended(task_id);
    lone.model.script(asks({ name, args: { word: 'b' } }, { name, args: { word: 'c' } }), hangs('Half a'));
    const { task_id: id } = await lone.alice.ok(lone.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 2 }), 201);
    await until('step 3', async () => (await lone.alice.ok(lone.alice.get(`/api/tasks/${id}/steps`))).length === 3);
    await worker.end('SIGKILL');
    lone.model.always(says('After all.'));
    worker = await startWorkerProcess(lone.setting, env);
    expect(await lone.ended(id, 40_000)).toMatchObject({ status: 'completed', response: 'After all.', turns: 3 });
    const steps = await lone.alice.ok(lone.alice.get(`/api/tasks/${id}/steps`));
    expect(steps[1].tool_calls).toMatchObject([{ answered_by: 'recorded' }, { answered_by: 'refused' }]);
    const { messages } = await lone.alice.ok(lone.alice.get(`/api/workflows/${workflow_id}`));
    expect(messages.filter(({ role }: { role: string }) => role === 'tool')).toHaveLength(3);
    expect(await calls()).toEqual(['a', 'b']);
  } finally {
    await worker.end('SIGTERM');
    await lone.stop();
  }
}, 90_000);
