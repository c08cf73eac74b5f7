import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toEvaluationId, toRunId } from '../../src/temporal/names.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, fails, hangs, type ModelRequest, says } from '../support/peers/model-server.ts';
import { answerByPrompt, openEvaluations, promptOf } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let evals: ReturnType<typeof openEvaluations>;
let provider_id: string;
beforeAll(async () => {
  here = await shareInstallation();
  evals = openEvaluations(here);
  provider_id = await providerOf({ name: 'judges', price_table: { '*': { input: 1_000_000, output: 0 } } });
});
afterAll(() => here.stop());

const markdown = { workflow: { output_format: 'markdown', title: 'Capitals' } };
const byPrompt = (results: Record<string, any>[]) => Object.fromEntries(results.map((result) => [result.prompt, result]));

async function providerOf(values: object): Promise<string> {
  const provider = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'judge', ...values };
  return (await here.alice.ok(here.alice.post('/api/providers', provider), 201)).id;
}

const judged = (request: ModelRequest) => JSON.parse(promptOf(request)) as Record<string, string>;

/** The evaluated model answers by prompt, the judge by what it is shown. */
const judging =
  (answers: Record<string, string>, judge: (shown: Record<string, string>) => string | Answer): Answer =>
  (response, request) => {
    if (request.model !== 'judge') return answerByPrompt(answers)(response, request);
    const reply = judge(judged(request));
    return (typeof reply === 'string' ? says(reply) : reply)(response, request);
  };

const sameWord = ({ answer = '', expected = '' }) =>
  JSON.stringify({ pass: answer.toLowerCase() === expected.toLowerCase(), reason: `${answer} and ${expected}` });

const model = (more: object = {}) => ({ type: 'model', provider_id, ...more });

async function evaluated(items: Record<string, unknown>, graders: object[], more: object = {}) {
  const workflow_id = await here.workflow(markdown);
  return evals.ended(await evals.begin(await evals.dataset(items), { workflow_id, graders, ...more }));
}

describe('a model grader', () => {
  it('judges each answer in a run that is recorded, paid for and a child of the evaluation', async () => {
    here.model.always(judging({ France: 'PARIS', Spain: 'Lisbon' }, sameWord));
    const graders = [model({ instructions: 'Capitals do not matter.' })];
    const { evaluation, results } = await evaluated({ France: 'Paris', Spain: 'Madrid' }, graders);
    expect(evaluation).toMatchObject({ status: 'completed', passed: 1, failed: 1, errors: 0, pass_rate: 0.5, graders });
    const { France, Spain } = byPrompt(results);
    expect(France.grades).toEqual([{ grader: 'model', passed: true, reason: 'PARIS and Paris', task_id: expect.any(String) }]);
    expect(Spain).toMatchObject({ status: 'failed', grades: [{ passed: false, reason: 'Lisbon and Madrid' }] });
    const task_id = France.grades[0].task_id as string;
    const task = await here.ended(task_id);
    expect(task).toMatchObject({
      trigger: 'evaluation',
      workflow_title: 'Judge of Capitals',
      model: 'judge',
      status: 'completed',
    });
    expect(task.usage.cost).toBe(10);
    expect(JSON.parse(task.prompt)).toEqual({ prompt: 'France', answer: 'PARIS', expected: 'Paris' });
    const asked = here.model.requests.find((request) => request.model === 'judge');
    expect(asked?.messages[0]).toMatchObject({ role: 'system', content: expect.stringContaining('Capitals do not matter.') });
    const execution = here.driver.client.workflow.getHandle(toRunId(task_id));
    expect((await execution.describe()).parentExecution?.workflowId).toBe(toEvaluationId(evaluation.id));
    const types = (await execution.fetchHistory()).events?.map(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name,
    );
    expect(types?.filter(Boolean)).toEqual(['exchange']);
  });

  it('asks again if its model fails for a moment', async () => {
    let failures = 1;
    here.model.always(judging({ France: 'Paris' }, (shown) => (failures-- > 0 ? fails(503) : sameWord(shown))));
    expect((await evaluated({ France: 'Paris' }, [model()])).evaluation).toMatchObject({ passed: 1, errors: 0 });
  });

  it('gives a score, which passes from `pass_at` on', async () => {
    const answers = { high: '0.8', low: '0.79' };
    here.model.always(judging(answers, ({ answer }) => JSON.stringify({ score: Number(answer), reason: null })));
    const { results } = await evaluated({ high: null, low: null }, [model({ pass_at: 0.8 })]);
    expect(byPrompt(results)).toMatchObject({
      high: { status: 'passed', grades: [{ passed: true, score: 0.8 }] },
      low: { status: 'failed', grades: [{ passed: false, score: 0.79 }] },
    });
  });

  it('that gives no verdict makes its item an error that quotes it; other items are graded', async () => {
    here.model.always(
      judging({ odd: 'x', good: 'x', lost: 'x' }, ({ prompt }) => {
        if (prompt === 'lost') return fails(401);
        return prompt === 'odd' ? 'I like it.' : '{"pass": true, "reason": "Right"}';
      }),
    );
    const graders = [{ type: 'exact' }, model()];
    const { evaluation, results } = await evaluated({ odd: 'x', good: 'x', lost: 'x' }, graders);
    expect(evaluation).toMatchObject({ status: 'completed', passed: 1, failed: 0, errors: 2 });
    const { odd, lost } = byPrompt(results);
    expect(odd).toMatchObject({ status: 'error', grades: [{ grader: 'exact', passed: true }] });
    expect(odd.error).toMatch(/^Grader 2 \(model\): The judge gave no verdict\..*I like it\./);
    expect(lost).toMatchObject({ status: 'error', error: expect.stringMatching(/The judge's run was failed: .*401/) });
  });

  it('is halted with its evaluation', async () => {
    here.model.always(judging({ France: 'Paris' }, () => hangs('Half')));
    const workflow_id = await here.workflow(markdown);
    const path = await evals.begin(await evals.dataset({ France: 'Paris' }), { workflow_id, graders: [model()] });
    const judges = async () => ((await here.alice.ok(here.alice.get('/api/tasks?trigger=evaluation&limit=1'))) as any)[0];
    await until('the judge is asked', async () => {
      const newest = await judges();
      return newest.workflow_title === 'Judge of Capitals' && newest.status === 'running';
    });
    const { id } = await judges();
    await here.alice.ok(here.alice.post(`${path}/halt`));
    expect((await evals.ended(path)).evaluation).toMatchObject({ status: 'halted', passed: 0 });
    expect((await here.ended(id)).status).toBe('halted');
  });
});

const SOURCES = {
  verdict: `
def grade(prompt: str, answer: str, expected: str) -> dict:
    if answer == "break":
        raise ValueError("no unit in the answer")
    if answer == "odd":
        return {"verdict": "good"}
    return {"pass": answer == expected, "reason": prompt + ": " + answer}
`,
  yes_or_no: `
def grade(answer: str) -> bool:
    return answer.startswith("4")
`,
  key: `
import os
def grade(answer: str) -> dict:
    return {"pass": True, "reason": os.environ["PERDURA_CALL_KEY"]}
`,
  secret: `
import os
ENV = {"KEY": "of the grader"}
def grade(answer: str) -> dict:
    return {"pass": len(os.environ["KEY"]) > 3, "reason": "the key is " + os.environ["KEY"]}
`,
};

let made = 0;
async function toolOf(source: string, more: object = {}, client = here.alice): Promise<string> {
  const name = `grade_${++made}`;
  const tool = { name, source_code: source.replace('def grade', `def ${name}`), ...more };
  return (await client.ok(client.post('/api/custom-tools', tool), 201)).id;
}
const python = (tool_id: string) => ({ type: 'python', tool_id });

describe('a Python grader', () => {
  it('grades by what the tool returns; its failures are errors of the item', async () => {
    here.model.always(answerByPrompt({ right: '42', wrong: '41', broken: 'break', odd: 'odd' }));
    const graders = [python(await toolOf(SOURCES.verdict)), python(await toolOf(SOURCES.yes_or_no))];
    const items = { right: '42', wrong: '42', broken: '42', odd: '42' };
    const { evaluation, results } = await evaluated(items, graders);
    expect(evaluation).toMatchObject({ passed: 1, failed: 1, errors: 2, graders });
    const { right, wrong, broken, odd } = byPrompt(results);
    expect(right.grades).toEqual([
      { grader: 'python', passed: true, reason: 'right: 42' },
      { grader: 'python', passed: true, reason: null },
    ]);
    expect(wrong).toMatchObject({ status: 'failed', grades: [{ passed: false, reason: 'wrong: 41' }, { passed: true }] });
    expect(broken.error).toMatch(/^Grader 1 \(python\): The custom tool grade_\d+ failed: .*no unit in the answer/);
    expect(broken.grades).toEqual([{ grader: 'python', passed: false, reason: 'The tool returned false' }]);
    expect(odd.error).toContain('The tool should return true, false or {"pass", "reason"} and returned {"verdict":"good"}');
  });

  it('is called with a separate key for each item, although the tool is the same', async () => {
    here.model.always(says('x'));
    const tool_id = await toolOf(SOURCES.key);
    const { results } = await evaluated({ a: 'x', b: 'x' }, [python(tool_id), python(tool_id)]);
    const keys = results.flatMap(({ grades }) => grades.map(({ reason }: { reason: string }) => reason));
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(4);
  });

  it('uses stored tokens of the owner, which no result shows', async () => {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'grader-key', value: 'a-very-secret-value' }), 201);
    const tool_id = await toolOf(SOURCES.secret, { env_config: { KEY: { token_name: 'grader-key' } } });
    here.model.always(says('x'));
    const { results } = await evaluated({ a: 'x' }, [python(tool_id)]);
    expect(results[0]).toMatchObject({ status: 'passed', grades: [{ reason: expect.stringContaining('the key is') }] });
    expect(JSON.stringify(results)).not.toContain('a-very-secret-value');
  });

  it('receives an answer that is JSON as it is, or as text if it takes a text', async () => {
    const source = 'def grade(answer: dict) -> bool:\n    return answer["total"] == 42\n';
    const asText = 'def grade(answer: str) -> bool:\n    return answer == \'{"total":42}\'\n';
    here.model.always(says('{"total": 42}'));
    const workflow_id = await here.workflow({ workflow: { output_format: 'json' } });
    const graders = [python(await toolOf(source)), python(await toolOf(asText))];
    const { evaluation } = await evals.ended(await evals.begin(await evals.dataset({ a: null }), { workflow_id, graders }));
    expect(evaluation).toMatchObject({ passed: 1, errors: 0 });
  });
});

describe('what graders refer to', () => {
  it('must exist, be enabled, take what graders give, and belong to the caller', async () => {
    const unknown = '01900000-0000-7000-8000-000000000000';
    const workflow_id = await here.workflow(markdown);
    const dataset = await evals.dataset({ a: 'x' });
    const REFUSED: [grader: object, path: string, message: string][] = [
      [model({ provider_id: unknown }), 'graders.0.provider_id', 'No provider with id'],
      [python(unknown), 'graders.0.tool_id', 'No custom tool with id'],
      [python(await toolOf(SOURCES.verdict, {}, here.bob)), 'graders.0.tool_id', 'belongs to someone else'],
      [python(await toolOf(SOURCES.verdict, { is_enabled: false })), 'graders.0.tool_id', 'is disabled'],
      [python(await toolOf('def grade(city: str) -> bool:\n    return True\n')), 'graders.0.tool_id', 'needs city'],
      [model({ pass_at: 2 }), 'graders.0.pass_at', ''],
      [model({ temperature: 1 }), 'graders.0', 'temperature'],
    ];
    for (const [grader, path, message] of REFUSED)
      expect(await evals.order(dataset, { workflow_id, graders: [grader] })).toMatchObject({
        status: 422,
        body: { errors: [{ path: expect.stringContaining(path), message: expect.stringContaining(message) }] },
      });
  });

  it('is reported if its stored token is missing', async () => {
    const dataset = await evals.dataset({ a: 'x' });
    const foreign = await providerOf({ name: 'without a key', api_key_token_name: 'nobody-has-this' });
    here.model.always(says('x'));
    const workflow_id = await here.workflow(markdown);
    const { body, status } = await evals.order(dataset, { workflow_id, graders: [model({ provider_id: foreign })] });
    expect({ status, warnings: body.warnings }).toMatchObject({
      status: 201,
      warnings: [{ path: 'graders.0.provider_id', message: expect.stringContaining('nobody-has-this') }],
    });
    const { results } = await evals.ended(`/api/datasets/${dataset}/runs/${body.id}`);
    expect(results[0]).toMatchObject({ status: 'error', error: expect.stringContaining('nobody-has-this') });
  });

  it('cannot be deleted while the evaluation runs; what is gone nevertheless is an error of the item', async () => {
    const tool_id = await toolOf(SOURCES.verdict);
    const judges = await providerOf({ name: 'judges for a while' });
    const gate = Promise.withResolvers<void>();
    here.model.always((response, request) => gate.promise.then(() => says('x')(response, request)));
    const workflow_id = await here.workflow(markdown);
    const graders = [python(tool_id), model({ provider_id: judges })];
    const path = await evals.begin(await evals.dataset({ a: 'x' }), { workflow_id, graders });
    const id = path.split('/').at(-1);
    for (const used of [`/api/custom-tools/${tool_id}`, `/api/providers/${judges}`]) {
      const refused = (message: string) => ({ status: 409, body: { code: 'in_use', detail: expect.stringContaining(message) } });
      expect(await here.alice.del(used)).toMatchObject(refused(`evaluation ${id} (halt it or wait for its end)`));
    }
    const { customTools, providers, usersOf } = here.core.store;
    expect(await usersOf('provider', judges, here.people.bob.subject)).toEqual(['an evaluation of someone else']);
    await customTools.remove(tool_id);
    await providers.remove(judges);
    gate.resolve();
    const { results } = await evals.ended(path);
    expect(results[0]?.status).toBe('error');
    expect(results[0]?.error).toContain(`Grader 1 (python): No custom tool with id ${tool_id}: it was deleted`);
    expect(results[0]?.error).toContain(`Grader 2 (model): No provider with id ${judges}: it was deleted`);
  });

  it('can be deleted after the evaluation', async () => {
    const tool_id = await toolOf(SOURCES.yes_or_no);
    here.model.always(says('42'));
    await evaluated({ a: 'x' }, [python(tool_id)]);
    expect((await here.alice.del(`/api/custom-tools/${tool_id}`)).status).toBe(204);
  });
});
