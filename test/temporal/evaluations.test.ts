import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MOST_ITEMS } from '../../src/contracts/datasets.ts';
import { reconcileEvaluations } from '../../src/temporal/client/evaluations.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { answerByPrompt, openEvaluations, promptOf } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let evals: ReturnType<typeof openEvaluations>;
beforeAll(async () => {
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
  evals = openEvaluations(here);
});
afterAll(() => here.stop());

const markdown = { workflow: { output_format: 'markdown' } };
const CAPITALS = { France: 'Paris', Spain: 'Madrid', Italy: 'Rome' };
const byPrompt = (results: Record<string, any>[]) => Object.fromEntries(results.map((result) => [result.prompt, result]));

describe('an evaluation', () => {
  it('runs a workflow on each item, grades the answers, and reports the pass rate of the version', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset(CAPITALS);
    here.model.always(answerByPrompt({ France: ' Paris\n', Spain: 'madrid', Italy: 'Milan' }));
    const path = await evals.begin(dataset, { workflow_id, graders: [{ type: 'exact', ignore_case: true }] });
    const { evaluation, results } = await evals.ended(path);
    expect(evaluation).toMatchObject({
      status: 'completed',
      items: 3,
      passed: 2,
      failed: 1,
      errors: 0,
      pass_rate: 2 / 3,
      workflow_id,
    });
    expect(byPrompt(results)).toMatchObject({
      France: { status: 'passed', expected: 'Paris', grades: [{ grader: 'exact', passed: true, reason: null }] },
      Spain: { status: 'passed' },
      Italy: { status: 'failed', grades: [{ passed: false, reason: 'The answer is not the expected one' }], error: null },
    });
    const task = await here.ended(byPrompt(results).Italy?.task_id);
    expect(task).toMatchObject({ prompt: 'Italy', response: 'Milan', trigger: 'evaluation', forked_from: null });
    expect(task.definition_hash).toBe(evaluation.definition_hash);
    const [listed] = (await here.alice.ok(here.alice.get(`/api/datasets/${dataset}/runs?workflow_id=${workflow_id}`))) as any;
    expect(listed).toMatchObject({ id: evaluation.id, pass_rate: 2 / 3 });
  });

  it('grades by pattern and by schema, and an item passes only if all graders accept the answer', async () => {
    const workflow_id = await here.workflow();
    const dataset = await evals.dataset({ both: null, pattern: null, neither: null });
    here.model.always(answerByPrompt({ both: '{"total": 42}', pattern: '{"total": "42"}', neither: '{"total": "none"}' }));
    const json_schema = { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] };
    const graders = [
      { type: 'regex', pattern: '4\\d' },
      { type: 'json_schema', json_schema },
    ];
    const { results } = await evals.ended(await evals.begin(dataset, { workflow_id, graders }));
    const passes = results.map(({ prompt, status, grades }) => [
      prompt,
      [status, ...grades.map(({ passed }: { passed: boolean }) => passed)],
    ]);
    expect(Object.fromEntries(passes)).toEqual({
      both: ['passed', true, true],
      pattern: ['failed', true, false],
      neither: ['failed', false, false],
    });
  });

  it('runs as many items at once as `parallel` says, and no more', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ a: 'x', b: 'x', c: 'x', d: 'x', e: 'x' });
    let open = 0;
    const most: number[] = [];
    const gate = Promise.withResolvers<void>();
    here.model.always(async (response, request) => {
      most.push(++open);
      if (open === 2) setTimeout(() => gate.resolve(), 1_000);
      await gate.promise;
      open -= 1;
      await says('x')(response, request);
    });
    const { evaluation } = await evals.ended(await evals.begin(dataset, { workflow_id, parallel: 2 }));
    expect(evaluation).toMatchObject({ passed: 5, pass_rate: 1 });
    expect(Math.max(...most)).toBe(2);
  });

  it('names the items that passed in the last evaluation of the workflow and do not pass now', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset(CAPITALS);
    here.model.always(answerByPrompt({ France: 'Paris', Spain: 'Madrid', Italy: 'Milan' }));
    const before = await evals.ended(await evals.begin(dataset, { workflow_id }));
    expect(before.evaluation).toMatchObject({ baseline_id: null, regressions: [] });
    here.model.always(answerByPrompt({ France: 'Paris', Spain: 'Barcelona', Italy: 'Rome' }));
    const { evaluation, results } = await evals.ended(await evals.begin(dataset, { workflow_id }));
    expect(evaluation).toMatchObject({ baseline_id: before.evaluation.id, passed: 2 });
    expect(evaluation.regressions).toMatchObject([
      {
        prompt: 'Spain',
        status: 'failed',
        task_id: byPrompt(results).Spain?.task_id,
        baseline_task_id: byPrompt(before.results).Spain?.task_id,
      },
    ]);
  });

  it('compares each pair of outcomes with the last evaluation that completed, not with one before it', async () => {
    const workflow_id = await here.workflow(markdown);
    const OUTCOMES = ['passed', 'failed', 'error'];
    const pairs = OUTCOMES.flatMap((before) => OUTCOMES.map((now) => ({ before, now, prompt: `${before} and then ${now}` })));
    const dataset = await evals.dataset(Object.fromEntries(pairs.map(({ prompt }) => [prompt, 'yes'])));
    const ANSWERS: Record<string, Answer> = { passed: says('yes'), failed: says('no'), error: fails(401) };
    const evaluate = (choose: (pair: (typeof pairs)[number]) => string, body: object = {}) => {
      here.model.always((response, request) => {
        const pair = pairs.find(({ prompt }) => promptOf(request) === prompt)!;
        return ANSWERS[choose(pair)]!(response, request);
      });
      return evals.begin(dataset, { workflow_id, parallel: 3, ...body });
    };
    const invert = (outcome: string) => (outcome === 'passed' ? 'failed' : 'passed');
    const first = await evals.ended(await evaluate(({ before }) => invert(before)));
    const second = await evals.ended(await evaluate(({ before }) => before));
    // A halted evaluation never becomes a baseline, even if it is the newest one.
    const halted_path = await evals.begin(dataset, { workflow_id, parallel: 1 });
    await here.alice.ok(here.alice.post(`${halted_path}/halt`), 202);
    await evals.ended(halted_path);
    // Nor does one of another workflow.
    await evals.ended(await evals.begin(dataset, { workflow_id: await here.workflow(markdown), parallel: 3 }));
    const { evaluation, results } = await evals.ended(await evaluate(({ now }) => now));
    expect(second.evaluation).toMatchObject({ baseline_id: first.evaluation.id, passed: 3, failed: 3, errors: 3 });
    expect(evaluation).toMatchObject({ baseline_id: second.evaluation.id, passed: 3, failed: 3, errors: 3 });
    const listRegressions = (regressed: Record<string, any>[]) =>
      Object.fromEntries(
        regressed.map(({ prompt, status, task_id, baseline_task_id }) => [prompt, [status, task_id, baseline_task_id]]),
      );
    const taskOf = (ended: Record<string, any>[], prompt: string) => byPrompt(ended)[prompt]?.task_id as string;
    expect(listRegressions(evaluation.regressions)).toEqual(
      Object.fromEntries(
        ['failed', 'error'].map((now) => {
          const prompt = `passed and then ${now}`;
          return [prompt, [now, taskOf(results, prompt), taskOf(second.results, prompt)]];
        }),
      ),
    );
    // Against a baseline that the order names, the others are the regressions.
    const named = await evals.ended(await evaluate(({ now }) => now, { baseline_id: first.evaluation.id }));
    const passed_first = pairs.filter(({ before, now }) => before !== 'passed' && now !== 'passed');
    expect(Object.keys(listRegressions(named.evaluation.regressions)).sort()).toEqual(
      passed_first.map(({ prompt }) => prompt).sort(),
    );
  });

  it('evaluates an earlier version of the workflow by its hash', async () => {
    const workflow_id = await here.workflow({ agent: { system_prompt: 'The first instructions.' }, ...markdown });
    here.model.always(says('Paris'));
    const old = await here.ended(await here.prompt(workflow_id, 'France'));
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { system_prompt: 'The second instructions.' }));
    const dataset = await evals.dataset({ France: 'Paris' });
    const { definition_hash } = old;
    const first = await evals.ended(await evals.begin(dataset, { workflow_id, definition_hash }));
    expect(first.evaluation).toMatchObject({ definition_hash, pass_rate: 1 });
    expect(JSON.stringify(here.model.requests.at(-1))).toContain('The first instructions.');
    const now = await evals.ended(await evals.begin(dataset, { workflow_id }));
    expect(now.evaluation.definition_hash).not.toBe(definition_hash);
    expect(JSON.stringify(here.model.requests.at(-1))).toContain('The second instructions.');
  });

  it('evaluates a version that has no run yet, and shows in the versions of the workflow', async () => {
    const workflow_id = await here.workflow({ workflow: { output_format: 'markdown', max_turns: 3 } });
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { max_turns: 4 }));
    const versions = async () => (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/versions`))) as any;
    const [second, first] = await versions();
    expect([second.last_evaluation, first.last_evaluation]).toEqual([null, null]);
    here.model.always(answerByPrompt({ France: 'Paris', Spain: 'Madrid', Italy: 'Milan' }));
    const dataset = await evals.dataset(CAPITALS);
    const { definition_hash } = first;
    await evals.ended(await evals.begin(dataset, { workflow_id, definition_hash }));
    const { evaluation } = await evals.ended(await evals.begin(dataset, { workflow_id, definition_hash }));
    const { id, completed_at } = evaluation;
    expect(await versions()).toEqual([
      second,
      { ...first, runs: 0, last_evaluation: { id, dataset_id: dataset, pass_rate: 2 / 3, completed_at } },
    ]);
    expect((await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/versions/1`))).last_evaluation.id).toBe(id);
  });

  it('of the workflow as it is now records that version', async () => {
    const workflow_id = await here.workflow(markdown);
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { system_prompt: 'Changed since.' }));
    here.model.always(says('x'));
    const { evaluation } = await evals.ended(await evals.begin(await evals.dataset({ a: 'x' }), { workflow_id }));
    const [newest] = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/versions`))) as any;
    const { definition_hash, id } = evaluation;
    expect(newest).toMatchObject({ number: 2, origin: 'run', definition_hash, runs: 0, current: true, last_evaluation: { id } });
  });

  it('shows the answer of each run, until the run is deleted', async () => {
    const workflow_id = await here.workflow({ workflow: { output_format: 'json' } });
    here.model.always(says('{"total": 42}'));
    const path = await evals.begin(await evals.dataset({ sum: { total: 42 } }), { workflow_id });
    const { results } = await evals.ended(path);
    expect(results).toMatchObject([{ status: 'passed', answer: { total: 42 } }]);
    await here.core.database.pool.query('DELETE FROM tasks WHERE id = $1', [results[0]?.task_id]);
    expect(await here.alice.ok(here.alice.get(`${path}/results`))).toMatchObject([{ status: 'passed', answer: null }]);
  });

  it('counts an item whose run fails as an error, with the reason, and continues', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ good: 'x', bad: 'x' });
    here.model.always((response, request) =>
      JSON.stringify(request.messages).includes('bad') ? fails(401)(response, request) : says('x')(response, request),
    );
    const { evaluation, results } = await evals.ended(await evals.begin(dataset, { workflow_id }));
    expect(evaluation).toMatchObject({ status: 'completed', passed: 1, failed: 0, errors: 1, pass_rate: 0.5 });
    expect(byPrompt(results).bad).toMatchObject({ status: 'error', grades: [], error: expect.stringContaining('401') });
  });

  it('counts a prompt that a guardrail refuses as an error', async () => {
    const config = { forbidden_patterns: ['secret'] };
    const guardrail = { name: 'no secrets here', guardrail_type: 'prompt', config };
    const { id } = await here.alice.ok(here.alice.post('/api/guardrails', guardrail), 201);
    const workflow_id = await here.workflow({ workflow: { output_format: 'markdown', guardrail_ids: [id] } });
    const dataset = await evals.dataset({ 'a secret': 'x' });
    const { evaluation, results } = await evals.ended(await evals.begin(dataset, { workflow_id }));
    expect(evaluation).toMatchObject({ status: 'completed', errors: 1 });
    expect(results[0]).toMatchObject({ error: expect.stringContaining('no secrets here'), status: 'error' });
  });

  it('is halted with its runs, and keeps the results so far', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ slow: 'x', quick: 'x', never: 'x' });
    here.model.always((response, request) =>
      JSON.stringify(request.messages).includes('quick') ? says('x')(response, request) : hangs('Half')(response, request),
    );
    const path = await evals.begin(dataset, { workflow_id, parallel: 2 });
    const resultsOf = async () => byPrompt((await here.alice.ok(here.alice.get(`${path}/results`))) as any);
    await until('one passed and two run', async () => {
      const { quick, slow, never } = await resultsOf();
      return quick?.status === 'passed' && slow?.status === 'running' && never?.status === 'running';
    });
    const { pool } = here.core.database;
    await pool.query(`UPDATE evaluations SET caller_token = 'sealed', caller_key_id = 'key' WHERE id = $1`, [
      path.split('/').at(-1),
    ]);
    expect((await here.alice.post(`${path}/halt`)).status).toBe(202);
    const { evaluation, results } = await evals.ended(path);
    expect(evaluation).toMatchObject({ status: 'halted', passed: 1, pass_rate: null });
    const kept = await pool.query('SELECT caller_token, caller_key_id FROM evaluations WHERE id = $1', [evaluation.id]);
    expect(kept.rows).toEqual([{ caller_token: null, caller_key_id: null }]);
    const { slow, never } = byPrompt(results);
    expect([slow?.status, never?.status]).toEqual(['halted', 'halted']);
    expect((await here.ended(slow?.task_id)).status).toBe('halted');
    expect((await here.ended(never?.task_id)).status).toBe('halted');
    expect((await here.alice.post(`${path}/halt`)).status).toBe(409);
  });

  it('sends no webhooks of the workflow', async () => {
    const hook = await startReceiver();
    const workflow_id = await here.workflow({ workflow: { output_format: 'markdown', webhook_url: hook.url } });
    here.model.always(says('x'));
    const { results } = await evals.ended(await evals.begin(await evals.dataset({ a: 'x' }), { workflow_id }));
    expect(await here.alice.ok(here.alice.get(`/api/tasks/${results[0]?.task_id}/webhooks`))).toEqual([]);
    await hook.stop();
  });

  it('that the engine never received is started by the reconciler', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ a: 'x' });
    here.model.always(says('x'));
    const { store } = here.core;
    const version = await store.evaluations.version(workflow_id, undefined);
    const { id } = await store.evaluations.create({
      ...{ dataset_id: dataset, workflow_id, version: version!, graders: [{ type: 'exact', ignore_case: false }] },
      ...{
        effects: 'stub',
        parallel: 1,
        created_by: here.people.alice.subject,
        owner_login: 'alice',
        access_token: null,
        service_key_id: null,
      },
    });
    await reconcileEvaluations(store, here.driver.evaluations);
    expect((await evals.ended(`/api/datasets/${dataset}/runs/${id}`)).evaluation).toMatchObject({ pass_rate: 1 });
  });
});

/** Writes and reads nothing, but counts how often it was called. */
const TOOLS = {
  write: 'EFFECT = "write"\ndef pay_it(amount: int) -> str:\n    return "paid for real"\n',
  read: 'EFFECT = "read"\ndef look_up(word: str) -> str:\n    return "seen for real"\n',
};

describe('tool calls of an evaluation', () => {
  /** A dataset of one item, which was taken from a run that paid 1. */
  async function paid() {
    const workflow_id = await here.workflow({ tools: [TOOLS.write, TOOLS.read], ...markdown });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const nameOf = async (id: string) => (await here.alice.ok(here.alice.get(`/api/custom-tools/${id}`))).name as string;
    const [pay = '', look = ''] = await Promise.all(custom_tool_ids.map(nameOf));
    here.model.script(asks({ name: pay, args: { amount: 1 } }), says('Paid.'));
    const task_id = await here.prompt(workflow_id, 'Pay 1.');
    await here.ended(task_id);
    return { workflow_id, pay, look, task_id };
  }
  async function callsOf(dataset: string, workflow_id: string, effects: string) {
    const { results, evaluation } = await evals.ended(await evals.begin(dataset, { workflow_id, effects }));
    const steps = (await here.alice.ok(here.alice.get(`/api/tasks/${results[0]?.task_id}/steps`))) as any;
    return { calls: steps.flatMap(({ tool_calls }: any) => tool_calls), evaluation };
  }
  const asked = (pay: string, look: string) => [
    asks({ name: pay, args: '{ "amount": 1 }' }, { name: pay, args: { amount: 2 } }, { name: look, args: { word: 'a' } }),
    says('Paid.'),
  ];

  it('are answered by the record of the run that the item was taken from; other writes are refused', async () => {
    const { workflow_id, pay, look, task_id } = await paid();
    const dataset = await evals.dataset({});
    const item = await here.alice.ok(here.alice.post(`/api/datasets/${dataset}/items`, { task_id }), 201);
    const content = expect.stringContaining('paid for real');
    expect(item).toMatchObject({ prompt: 'Pay 1.', expected: 'Paid.', source_task_id: task_id, calls: [{ name: pay, content }] });
    here.model.script(...asked(pay, look));
    const { calls, evaluation } = await callsOf(dataset, workflow_id, 'recorded');
    expect(calls).toMatchObject([
      { answered_by: 'recorded', result: item.calls[0].content, attempts: 0 },
      { answered_by: 'refused', attempts: 0, result: expect.stringContaining('the item that this run evaluates') },
      { answered_by: null, attempts: 1, result: expect.stringContaining('seen for real') },
    ]);
    expect(evaluation.pass_rate).toBe(1);
  });

  it('under `stub` are answered by the record of a bundle, and no tool is called', async () => {
    const { workflow_id, pay, look, task_id } = await paid();
    const bundle = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/bundle`));
    const dataset = await evals.dataset({});
    const item = await here.alice.ok(here.alice.post(`/api/datasets/${dataset}/items/import`, bundle), 201);
    expect(item).toMatchObject({ prompt: 'Pay 1.', expected: 'Paid.', source_task_id: null, calls: [{ name: pay }] });
    here.model.script(...asked(pay, look));
    const { calls } = await callsOf(dataset, workflow_id, 'stub');
    expect(calls).toMatchObject([
      { answered_by: 'recorded', result: item.calls[0].content },
      { answered_by: 'stub', attempts: 0, result: expect.stringContaining('No tool is called in this evaluation') },
      { answered_by: 'stub', attempts: 0 },
    ]);
  });
});

describe('an imported run', () => {
  it('gives the calls whose results are on record', async () => {
    const dataset = await evals.dataset({});
    const call = { name: 'pay', arguments: '{}', result: 'paid', status: 'done', failed: false, answered_by: null };
    const kept = { name: 'pay', arguments: '{}', content: 'paid', failed: false };
    const CALLS: [call: object, kept: object[]][] = [
      [{}, [kept]],
      [{ failed: true }, [{ ...kept, failed: true }]],
      [{ result: '' }, [{ ...kept, content: '' }]],
      [{ answered_by: 'recorded' }, [kept]],
      [{ failed: null }, [kept]],
      [{ result: null }, []],
      [{ answered_by: 'stub' }, []],
      [{ answered_by: 'refused' }, []],
      ...['pending', 'started', 'denied', 'unknown'].map((status): [object, object[]] => [{ status }, []]),
    ];
    for (const [values, calls] of CALLS) {
      const steps = [{ tool_calls: [{ ...call, ...values }] }];
      const bundle = { format: 'perdura-run', version: 1, task: { prompt: 'Pay.' }, steps, end: { response: 'Paid.' } };
      const item = await here.alice.ok(here.alice.post(`/api/datasets/${dataset}/items/import`, bundle), 201);
      expect(item.calls, JSON.stringify(values)).toEqual(calls);
    }
  });

  it('is refused when the dataset is full, and a run that is added too', async () => {
    const dataset = await evals.dataset({ first: 'x' });
    await here.core.database.pool.query(
      `INSERT INTO dataset_items (id, dataset_id, prompt, calls, created_by)
       SELECT gen_random_uuid(), dataset_id, prompt, calls, created_by
       FROM dataset_items, generate_series(1, $2) WHERE dataset_id = $1`,
      [dataset, MOST_ITEMS - 2],
    );
    const items = `/api/datasets/${dataset}/items`;
    const bundle = { format: 'perdura-run', version: 1, task: { prompt: 'Pay.' }, steps: [], end: { response: 'Paid.' } };
    expect((await here.alice.post(items, { prompt: 'last', expected: 'x' })).status).toBe(201);
    const full = { status: 409, body: { code: 'dataset_full' } };
    expect(await here.alice.post(items, { prompt: 'one more', expected: 'x' })).toMatchObject(full);
    expect(await here.alice.post(`${items}/import`, bundle)).toMatchObject(full);
    expect((await here.alice.get(`/api/datasets/${dataset}`)).body.item_count).toBe(MOST_ITEMS);
  });
});

describe('refused', () => {
  it('are patterns and schemas that cannot be applied, versions and baselines that do not exist', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ a: 'x' });
    const graders = [{ type: 'exact' }];
    const unknown = '01900000-0000-7000-8000-000000000000';
    const REFUSED: [body: object, path: string][] = [
      [{ workflow_id, graders: [{ type: 'regex', pattern: '(' }] }, 'graders.0.pattern'],
      [{ workflow_id, graders: [{ type: 'json_schema', json_schema: { type: 'nothing' } }] }, 'graders.0.json_schema'],
      [{ workflow_id, graders, definition_hash: 'unknown' }, 'definition_hash'],
      [{ workflow_id, graders, baseline_id: unknown }, 'baseline_id'],
      [{ workflow_id: unknown, graders }, 'workflow_id'],
      [{ workflow_id, graders: [] }, 'graders'],
    ];
    for (const [body, path] of REFUSED)
      expect(await evals.order(dataset, body)).toMatchObject({ status: 422, body: { errors: [{ path }] } });
  });

  it('is a version of another workflow', async () => {
    const [workflow_id, other] = [await here.workflow(markdown), await here.workflow(markdown)];
    here.model.always(says('x'));
    const { definition_hash: run } = await here.ended(await here.prompt(other, 'x'));
    await here.alice.ok(here.alice.put(`/api/workflows/${other}`, { max_turns: 2 }));
    const [{ definition_hash: saved }] = (await here.alice.ok(here.alice.get(`/api/workflows/${other}/versions`))) as any;
    const dataset = await evals.dataset({ a: 'x' });
    for (const definition_hash of [run, saved])
      expect((await evals.order(dataset, { workflow_id, definition_hash, graders: [{ type: 'exact' }] })).status).toBe(422);
  });

  it('is a dataset without items', async () => {
    const order = { workflow_id: await here.workflow(), graders: [{ type: 'exact' }] };
    expect(await evals.order(await evals.dataset({}), order)).toMatchObject({ status: 409, body: { code: 'dataset_empty' } });
  });

  it('are changes of a dataset while it is evaluated', async () => {
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ a: 'x' });
    here.model.always(hangs('Half'));
    const path = await evals.begin(dataset, { workflow_id });
    const [item] = (await here.alice.ok(here.alice.get(`/api/datasets/${dataset}/items`))) as any;
    const refused = { status: 409, body: { code: 'evaluation_running' } };
    expect(await here.alice.del(`/api/datasets/${dataset}/items/${item.id}`)).toMatchObject(refused);
    expect(await here.alice.del(`/api/datasets/${dataset}`)).toMatchObject(refused);
    await here.alice.ok(here.alice.post(`${path}/halt`));
    await evals.ended(path);
    expect((await here.alice.del(`/api/datasets/${dataset}/items/${item.id}`)).status).toBe(204);
    expect((await here.alice.del(`/api/datasets/${dataset}`)).status).toBe(204);
    expect((await here.alice.get(path)).status).toBe(404);
  });
});
