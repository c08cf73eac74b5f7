import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import { createOutputGuards } from '../../src/main/wiring/guardrails.ts';
import { replay } from '../../src/replay/replay.ts';
import { testParsers } from '../support/contract/parsers.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { perdura } from '../support/machine/processes.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { outOfQuota } from '../support/runs/fallbacks.ts';
import { until } from '../support/until.ts';

const FOLDER = join(import.meta.dirname, 'bundles');
const RECORDS = process.env.RECORD_BUNDLES === '1';

const parsers = testParsers();
const outputGuards = createOutputGuards(parsers.judge);
let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-bundles-'));
  here = await startTestInstallation();
});
afterAll(async () => {
  await parsers.close();
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

const ADD = 'EFFECT = "write"\ndef add(a: int, b: int) -> int:\n    """Adds."""\n    return a + b\n';
const NOTE = 'EFFECT = "write"\ndef note(text: str) -> str:\n    return "kept"\n';
const LONG = 'EFFECT = "read"\ndef long() -> str:\n    return "word " * 800\n';
const FAILS = 'EFFECT = "read"\ndef look(at: str) -> str:\n    raise ValueError("nothing at " + at)\n';

const bundleOf = async (task_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/bundle`))) as unknown as RunBundle;
const statusOf = async (id: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${id}`))).status as string;
const waits = (id: string) => until('the wait', async () => (await statusOf(id)) === 'waiting');

/** A workflow, and the name of its first tool. */
async function made(options: Parameters<TestInstallation['workflow']>[0]) {
  const workflow_id = await here.workflow(options);
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids, provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const tools = await Promise.all(
    custom_tool_ids.map(async (id: string) => (await here.alice.ok(here.alice.get(`/api/custom-tools/${id}`))).name as string),
  );
  return { workflow_id, agent_id, provider_id, names: tools as [string, string] };
}

let count = 0;
async function guardrail(config: object): Promise<string> {
  const values = { name: `rule ${++count}`, guardrail_type: 'output', config };
  return (await here.alice.ok(here.alice.post('/api/guardrails', values))).id;
}

async function approval(decision: 'approve' | 'deny') {
  const { workflow_id, agent_id, names } = await made({ tools: [ADD] });
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [names[0]] }));
  here.model.script(asks({ name: names[0], args: { a: 1, b: 2 } }), says('Decided.'));
  const task_id = await here.prompt(workflow_id);
  await waits(task_id);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision, message: 'as you like' }));
  return task_id;
}

const SUM = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] };

/** Each leaves a run behind; returns its task. */
const SCENES: Record<string, () => Promise<string>> = {
  async tools() {
    const skill = await here.alice.ok(here.alice.post('/api/skills', { name: 'Sums', instructions: 'Add carefully.' }));
    const { workflow_id, names } = await made({ tools: [ADD, FAILS], workflow: { skill_ids: [skill.id], max_turns: 8 } });
    const [add, look] = names;
    here.model.script(
      asks({ name: add, args: { a: 17, b: 25 } }, { name: look, args: { at: 'nowhere' } }),
      asks({ name: add, args: '{"a": 1, ' }, { name: 'no_such_tool' }),
      asks({ name: add, args: { a: 3, b: 4 } }),
      says('It is 42.'),
    );
    return here.prompt(workflow_id, 'What is 17 + 25?');
  },
  async denied() {
    const { workflow_id, names } = await made({ tools: [ADD], workflow: { max_turns: 2, output_format: 'json' } });
    const again = { name: names[0], args: { a: 1, b: 1 } };
    here.model.script(asks(again), asks(again, again), asks(again), says('{"sum": 2}'));
    return here.prompt(workflow_id);
  },
  approved: () => approval('approve'),
  refused: () => approval('deny'),
  async compacted() {
    const { workflow_id, provider_id, names } = await made({ tools: [NOTE], workflow: { max_turns: 50 } });
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { context_window: 1_000 }));
    let rounds = 0;
    here.model.always((response, { messages }) => {
      const answer = /keep the notes/.test(String(messages[0]?.content))
        ? says(`Notes ${rounds}.`)
        : ++rounds > 7
          ? says('Summed up.')
          : asks({ name: names[0], args: { text: `${rounds} `.repeat(400) } });
      return answer(response, { messages, model: '' });
    });
    return here.prompt(workflow_id);
  },
  async redacted() {
    const guardrail_ids = [await guardrail({ forbidden_patterns: ['secret \\w+'], action: 'redact' })];
    const { workflow_id } = await made({ workflow: { guardrail_ids } });
    here.model.script(says('The secret word is out.'));
    return here.prompt(workflow_id);
  },
  async withheld() {
    const guardrail_ids = [await guardrail({ forbidden_patterns: ['bomb'], action: 'block' })];
    const { workflow_id } = await made({ workflow: { guardrail_ids } });
    here.model.script(says('A bomb is made so.'));
    return here.prompt(workflow_id);
  },
  async repaired() {
    const { workflow_id, names } = await made({ tools: [ADD], workflow: { output_schema: SUM } });
    here.model.script(asks({ name: names[0], args: { a: 1, b: 2 } }), says('It is 3.'), says('{"sum": 3}'));
    return here.prompt(workflow_id);
  },
  async invalid() {
    const { workflow_id } = await made({ workflow: { output_schema: SUM } });
    here.model.script(says('It is 3.'), says('{"sum": "3"}'));
    return here.prompt(workflow_id);
  },
  async budget() {
    const { workflow_id, names } = await made({ tools: [LONG], workflow: { budget: { max_tokens: 600, on_exhausted: 'wait' } } });
    here.model.script(asks({ name: names[0] }), says('Raised.'));
    const task_id = await here.prompt(workflow_id);
    await waits(task_id);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/budget`, { max_tokens: 100_000 }));
    return task_id;
  },
  async exhausted() {
    const { workflow_id, names } = await made({ tools: [LONG], workflow: { budget: { max_tokens: 600, on_exhausted: 'halt' } } });
    here.model.script(asks({ name: names[0] }));
    return here.prompt(workflow_id);
  },
  async failed() {
    const { workflow_id, names } = await made({ tools: [ADD] });
    here.model.script(asks({ name: names[0], args: { a: 1, b: 2 } }), fails(401));
    return here.prompt(workflow_id);
  },
  async fallen() {
    const spare = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'spare' };
    const price_table = { '*': { input: 13, output: 17 } };
    const values = { ...spare, name: 'of the fallback', price_table, context_window: 1_900 };
    const { id } = await here.alice.ok(here.alice.post('/api/providers', values));
    const { workflow_id, names } = await made({ tools: [ADD], agent: { fallbacks: [{ on: ['quota'], provider_id: id }] } });
    const add = (a: number) => asks({ name: names[0], args: { a, b: 2 } });
    here.model.script(add(1), outOfQuota, add(3), says('Both.'));
    return here.prompt(workflow_id);
  },
  async halted() {
    const { workflow_id } = await made({});
    here.model.script(hangs('Half a'));
    const task_id = await here.prompt(workflow_id);
    await until('the text', async () => here.model.requests.length > 0 && (await statusOf(task_id)) === 'running');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    return task_id;
  },
  async forked() {
    const source = await SCENES.tools!();
    await here.ended(source);
    const [{ tool_calls }] = (await here.alice.ok(here.alice.get(`/api/tasks/${source}/steps`))) as any;
    const name = tool_calls[0].name;
    here.model.script(asks({ name, args: { a: 3, b: 4 } }, { name, args: { a: 9, b: 9 } }), says('Forked.'));
    const body = { from_step: 2, prompt: 'Try again.', effects: 'recorded' };
    return (await here.alice.ok(here.alice.post(`/api/tasks/${source}/fork`, body), 201)).task_id;
  },
  async memories() {
    const { workflow_id, agent_id } = await made({});
    await here.alice.ok(here.alice.post('/api/memories', { agent_id, scope: 'agent', key: 'colour', value: 'blue' }));
    here.model.script(says('Blue.'));
    return here.prompt(workflow_id, 'What colour?');
  },
};

describe('a bundle of a real run is replayed as it was', () => {
  it.each(Object.keys(SCENES))('%s', async (name) => {
    const task_id = await SCENES[name]!();
    const { status } = await here.ended(task_id);
    const bundle = await bundleOf(task_id);
    expect(bundle).toMatchObject({ format: 'perdura-run', version: 1, task: { id: task_id }, end: { status } });
    const { difference, inputs } = await replay(bundle, outputGuards);
    expect(difference).toBeNull();
    expect(inputs.size).toBeGreaterThan(0);
    if (!RECORDS) return;
    await mkdir(FOLDER, { recursive: true });
    await writeFile(join(FOLDER, `${name}.json`), `${JSON.stringify(bundle, null, 1)}\n`);
  });
});

/** Runs that earlier code recorded: current code must send and decide the same. RECORD_BUNDLES=1 records them again. */
describe('a run that earlier code recorded is replayed without differences', async () => {
  const files = await readdir(FOLDER).catch(() => []);
  it('all of them', () => expect(files.length).toBeGreaterThan(8));
  it.each(files)('%s', async (file) => {
    const bundle = JSON.parse(await readFile(join(FOLDER, file), 'utf8')) as RunBundle;
    expect(bundle.steps.every(({ input, copied, ended_at }) => input !== null || copied || ended_at === null)).toBe(true);
    expect((await replay(bundle, outputGuards)).difference).toBeNull();
  });
});

describe('what was changed is found at its step', async () => {
  const read = async (name: string) => JSON.parse(await readFile(join(FOLDER, `${name}.json`), 'utf8')) as RunBundle;
  const differs = async (name: string, change: (bundle: RunBundle) => void) => {
    const bundle = await read(name);
    change(bundle);
    return (await replay(bundle, outputGuards)).difference;
  };
  const isReminder = ({ kind }: { kind: string }) => kind === 'reminder';
  const both = (bundle: RunBundle, text: string) => {
    bundle.steps[0]!.tool_calls[0]!.result = text;
    result(bundle, 1).content = text;
  };
  const result = (bundle: RunBundle, step: number) => bundle.transcript.find((it) => it.kind === 'result' && it.step === step)!;

  it.each<[string, string, number, string, (bundle: RunBundle) => void]>([
    [
      'fewer turns',
      'tools',
      1,
      'the reminder',
      (it) => {
        it.definition.settings.max_turns = 3;
      },
    ],
    [
      'more turns',
      'denied',
      2,
      'the call 2-2',
      (it) => {
        it.definition.settings.max_turns = 3;
      },
    ],
    [
      'a reminder that comes later',
      'tools',
      3,
      'the reminder',
      (it) => {
        it.definition.settings.max_turns = 12;
      },
    ],
    [
      'a reminder that is missing',
      'tools',
      3,
      'the reminder',
      (it) => void it.transcript.splice(it.transcript.findIndex(isReminder), 1),
    ],
    [
      'the result of a call',
      'tools',
      1,
      'the call 1-1',
      (it) => {
        it.steps[0]!.tool_calls[0]!.result = '{"result": 43}';
      },
    ],
    [
      'a result in the transcript',
      'tools',
      3,
      'the call 3-1',
      (it) => {
        result(it, 3).content = '{"result": 8}';
      },
    ],
    ['a result in both places', 'tools', 2, 'what the model is given', (it) => both(it, '{"result": 43}')],
    [
      'an answer',
      'tools',
      4,
      'the reply',
      (it) => {
        it.steps[3]!.output = 'It is 43.';
      },
    ],
    [
      'the arguments of a call',
      'tools',
      3,
      'the reply',
      (it) => {
        it.steps[2]!.tool_calls[0]!.arguments = '{"a":3}';
      },
    ],
    [
      'the effect of a tool',
      'tools',
      1,
      'what the model is given',
      (it) => {
        it.tools[0]!.effect = 'read';
      },
    ],
    [
      'the system prompt',
      'tools',
      1,
      'what the model is given',
      (it) => {
        it.definition.agent.system_prompt += ' Be brief.';
      },
    ],
    [
      'a skill',
      'tools',
      1,
      'what the model is given',
      (it) => {
        it.definition.skills = [];
      },
    ],
    [
      'the prompt',
      'tools',
      1,
      'the prompt',
      (it) => {
        it.task.prompt = 'What is 1 + 1?';
      },
    ],
    ['a step too few', 'tools', 4, 'whether the run continues', (it) => void it.steps.pop()],
    [
      'the response',
      'denied',
      4,
      'the response',
      (it) => {
        it.end.response = { sum: 3 };
      },
    ],
    [
      'the turns',
      'tools',
      4,
      'how the run ends',
      (it) => {
        it.end.turns = 9;
      },
    ],
    [
      'the end',
      'tools',
      4,
      'how the run ends',
      (it) => {
        it.end.status = 'failed';
      },
    ],
    [
      'why it failed',
      'withheld',
      1,
      'how the run ends',
      (it) => {
        it.end.error_code = 'internal';
      },
    ],
    [
      'a smaller window',
      'compacted',
      4,
      'the summary of older messages',
      (it) => {
        it.runtime.context_window = 700;
      },
    ],
    [
      'a larger window',
      'compacted',
      5,
      'the summary of older messages',
      (it) => {
        it.runtime.context_window = 100_000;
      },
    ],
    [
      'a guardrail',
      'redacted',
      1,
      'the reply',
      (it) => {
        it.definition.guardrails![0]!.config = { max_length: 5, action: 'redact' };
      },
    ],
    [
      'a wait for the budget',
      'budget',
      2,
      'the budget is used up',
      (it) => {
        it.steps[1]!.budget_exhausted = false;
      },
    ],
    [
      'a smaller budget',
      'budget',
      1,
      'the budget is used up',
      (it) => {
        it.definition.budget!.max_tokens = 1;
      },
    ],
    [
      'an approval',
      'approved',
      1,
      'the call 1-1',
      (it) => {
        it.definition.approval_tools = [];
      },
    ],
  ])('%s', async (_, name, step, what, change) => {
    const difference = await differs(name, change);
    expect(difference).toMatchObject({ step });
    expect(difference?.what).toContain(what);
  });
});

describe('what happens between the last answer and the end is not the loop’s doing', async () => {
  const text = await readFile(join(FOLDER, 'tools.json'), 'utf8');
  const endedAs = async (end: Partial<RunBundle['end']>) => {
    const bundle = JSON.parse(text) as RunBundle;
    Object.assign(bundle.end, end);
    return (await replay(bundle, outputGuards)).difference;
  };

  it('a halt by a person, a run that was ended in the engine, or a bundle that was taken there', async () => {
    expect(await endedAs({ status: 'halted' })).toBeNull();
    expect(await endedAs({ status: 'running' })).toBeNull();
    expect(await endedAs({ status: 'failed', error_code: 'run_lost' })).toBeNull();
  });

  it('but the number of turns is, and so is a halt by the budget', async () => {
    expect(await endedAs({ status: 'halted', turns: 9 })).toMatchObject({ what: 'how the run ends' });
    expect(await endedAs({ status: 'halted', error_code: 'budget_exhausted' })).toMatchObject({ what: 'how the run ends' });
  });
});

const CANARIES = [
  'canary-provider-key-51c2',
  'canary-tool-secret-8d7e',
  'canary-header-93aa',
  'canary-token-in-url',
  'canary-env-77',
  ALICE,
];
/** A value of several lines, and a part of one that is sealed as a whole. */
const PEM = 'canary-begin\n"canary-middle"\ncanary-end';
const PART = 'canary-password-of-an-address';

it('holds no secret, whatever the run has met', async () => {
  const { alice } = here;
  await alice.ok(alice.post('/api/tokens', { name: 'provider-key', value: CANARIES[0] }));
  await alice.ok(alice.post('/api/tokens', { name: 'tool-key', value: CANARIES[1] }));
  await alice.ok(alice.post('/api/tokens', { name: 'pem-key', value: PEM }));
  const server = {
    ...{ name: 'headers', transport_type: 'http' },
    connection_config: {
      url: 'http://127.0.0.1:1/mcp',
      headers: { 'x-api-key': CANARIES[2], authorization: 'Bearer {{token:tool-key}}', 'x-home': `https://u:${PART}@home.test/` },
    },
  };
  const local = {
    name: 'local',
    transport_type: 'stdio',
    connection_config: { command: 'false', args: [], env: { A: CANARIES[4], B: '{{token:pem-key}}' } },
  };
  const mcp_server_ids = [
    (await alice.ok(alice.post('/api/mcps', server))).id,
    (await alice.ok(alice.post('/api/mcps', local))).id,
  ];
  const source_code = `# ${CANARIES[4]}\nENV = {"SECRET": "s"}\nEFFECT = "read"\ndef leaky(word: str) -> str:\n    return word\n`;
  const tool = await alice.ok(alice.post('/api/custom-tools', { name: 'leaky', source_code }));
  await alice.ok(alice.put(`/api/custom-tools/${tool.id}/env-mapping`, { env_mapping: { SECRET: 'tool-key' } }));
  const webhook_url = `http://127.0.0.1:1/hook/${CANARIES[3]}`;
  const { workflow_id, provider_id } = await made({
    agent: { custom_tool_ids: [tool.id], mcp_server_ids },
    workflow: { webhook_url },
  });
  await alice.ok(alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'provider-key' }));
  const words = [...CANARIES.filter((canary) => canary !== CANARIES[3]), PART, PEM, JSON.stringify({ PEM })].join(' ');
  here.model.script(asks({ name: 'leaky', args: { word: words } }), says(`I saw ${words}.`));
  const task_id = await here.prompt(workflow_id, `My key is ${CANARIES[0]}, in base64 ${btoa(CANARIES[1]!)}`);
  await here.ended(task_id);
  const bundle = await bundleOf(task_id);
  const text = JSON.stringify(bundle);
  for (const secret of [
    ...CANARIES,
    btoa(CANARIES[1]!),
    '{{sealed',
    'provider-key',
    'tool-key',
    PART,
    ...PEM.split(/\W+(?=canary)/),
  ])
    expect(text).not.toContain(secret);
  expect(text).toContain('[redacted]');
  expect((await replay(bundle, outputGuards)).difference).toBeNull();
});

it('is for the owner alone', async () => {
  const task_id = await here.prompt(await here.workflow());
  expect((await here.bob.get(`/api/tasks/${task_id}/bundle`)).status).toBe(403);
  expect((await here.alice.get('/api/tasks/01900000-0000-7000-8000-000000000000/bundle')).status).toBe(404);
});

describe('perdura replay', () => {
  const run = async (name: string, text: string) => {
    const file = join(folder, `${name}.json`);
    await writeFile(file, text);
    const child = perdura('replay', { PERDURA_HOME: folder }, [file]);
    const [code] = (await child.ended) as [number];
    return { code, output: child.output() };
  };

  it('exits with 0 for the same run, 1 for a different one and 2 for a file that is not a bundle, and prints which', async () => {
    const text = await readFile(join(FOLDER, 'tools.json'), 'utf8');
    const same = await run('same', text);
    expect(same).toMatchObject({ code: 0, output: expect.stringMatching(/same .*4 steps, 5 tool calls, completed/) });
    const other = await run('other', text.replace('It is 42.', 'It is 43.'));
    expect(other).toMatchObject({
      code: 1,
      output: expect.stringMatching(/DIFFERENT .*step 4: .*\n {2}recorded: .*\n {2}replayed: /),
    });
    const changed = JSON.parse(text) as RunBundle;
    changed.steps[2]!.tool_calls[0]!.call_id = 'by hand';
    const { output: renamed } = await run('renamed', JSON.stringify(changed));
    expect(renamed).toMatch(/step 3: the call 3-1\n {2}recorded: nothing\n {2}replayed: \{/);
    const { output: long } = await run('long', text.replace('"prompt": "What', `"prompt": "${'w'.repeat(700)} What`));
    expect(long).toMatch(/step 1: the prompt\n {2}recorded: "w{599} … \(719 characters\)\n {2}replayed: "What is 17 \+ 25\?"\n/);
    expect(await run('broken', '{"format": ')).toMatchObject({ code: 2, output: expect.stringContaining('Not valid JSON') });
    expect(await run('foreign', '{"a": 1}')).toMatchObject({
      code: 2,
      output: expect.stringContaining('Not a bundle of a run'),
    });
    const later = await run('later', text.replace('"version": 1', '"version": 2'));
    expect(later).toMatchObject({ code: 2, output: expect.stringContaining('this Perdura reads version 1') });
    const damaged = await run('damaged', text.replace('"transcript"', '"manuscript"'));
    expect(damaged).toMatchObject({ code: 2, output: expect.stringContaining('Damaged bundle: transcript') });
  });
});
