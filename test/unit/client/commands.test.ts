import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { type Config, readConfig } from '../../../src/main/config.ts';

interface Received {
  line: string;
  body: unknown;
}
type Answer = object | null | ((request: URL) => object);

/** The answers of a service by method and path, and what it was asked. */
let answers: Record<string, Answer> = {};
const received: Received[] = [];
const server = createServer(async (request, response) => {
  const url = new URL(request.url!, 'http://x');
  const body = await text(request);
  received.push({ line: `${request.method} ${request.url}`, body: body ? JSON.parse(body) : null });
  const answer = answers[`${request.method} ${url.pathname}`];
  const { status = 200, headers = {}, reply = {} } = describeReply(typeof answer === 'function' ? answer(url) : answer);
  response.writeHead(status, headers).end(JSON.stringify(reply));
});

/** A page is a list with the address of the next one. */
const describeReply = (answer: Answer | undefined): { status?: number; headers?: Record<string, string>; reply?: unknown } => {
  if (answer === undefined) return { status: 404, reply: { detail: 'Nothing is there', code: 'not_found' } };
  return answer && 'reply' in answer ? answer : { reply: answer };
};

let folder: string;
let config: Config;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-commands-'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config = readConfig({
    PERDURA_API_URL: url,
    PERDURA_API_TOKEN: 'hunter2',
    XDG_CONFIG_HOME: folder,
    PERDURA_HOME: join(folder, 'home'),
  });
});
afterEach(() => {
  answers = {};
  received.length = 0;
  process.exitCode = undefined;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  await rm(folder, { recursive: true, force: true });
});

const COMMANDS = {
  alerts: () => import('../../../src/main/commands/alerts.ts'),
  apply: () => import('../../../src/main/commands/apply.ts'),
  approve: () => import('../../../src/main/commands/approve.ts'),
  deny: () => import('../../../src/main/commands/deny.ts'),
  eval: () => import('../../../src/main/commands/eval.ts'),
  export: () => import('../../../src/main/commands/export.ts'),
  import: () => import('../../../src/main/commands/import.ts'),
  keys: () => import('../../../src/main/commands/keys.ts'),
  logs: () => import('../../../src/main/commands/logs.ts'),
  run: () => import('../../../src/main/commands/run.ts'),
  schedules: () => import('../../../src/main/commands/schedules.ts'),
  tasks: () => import('../../../src/main/commands/tasks.ts'),
  tokens: () => import('../../../src/main/commands/tokens.ts'),
};

/** Runs a command in this process; `failure` is what it throws, which `cli.ts` prints. */
async function perdura(name: keyof typeof COMMANDS, ...args: string[]) {
  const { default: command } = await COMMANDS[name]();
  const printed = { out: '', errors: '' };
  const keep = (stream: keyof typeof printed) => (chunk: unknown) => {
    printed[stream] += String(chunk);
    return true;
  };
  const out = vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'));
  const errors = vi.spyOn(process.stderr, 'write').mockImplementation(keep('errors'));
  try {
    const failure = await command(config, args).then(
      () => null,
      (error: Error) => error.message,
    );
    return { ...printed, failure, code: process.exitCode ?? 0 };
  } finally {
    out.mockRestore();
    errors.mockRestore();
  }
}

const ID = (digit: number) => `0197a0c4-6b1e-7c3a-9f57-0d2c5a1be00${digit}`;
const task = (more: object = {}) => ({
  ...{ id: ID(7), status: 'completed', created_at: '2026-01-31T12:13:14.000Z', workflow_title: 'Daily', agent_name: 'Clerk' },
  ...{ prompt: 'Look\n  at it.', ...more },
});

describe('perdura tasks show', () => {
  const shown = {
    ...{ workflow_id: ID(5), agent_id: ID(3), model: 'small', started_at: null, completed_at: null, response: null },
    ...{ steps: 2, tool_calls: 3, usage: { total_in: 1_009, total_out: 211, cost: 0.37, priced: true } },
  };

  it('shows what there is of a run', async () => {
    const failed = { workflow_title: null, model: null, status: 'failed', error: 'No model answered' };
    answers = { [`GET /api/tasks/${ID(7)}`]: task({ ...shown, ...failed }) };
    expect((await perdura('tasks', 'show', ID(7))).out.split('\n')).toEqual([
      ...[`id        ${ID(7)}`, 'status    failed', `workflow  - (${ID(5)})`, `agent     Clerk (${ID(3)})`, 'model     -'],
      ...['created   2026-01-31 12:13:14 +00:00', 'started   -', 'ended     -', 'work      2 steps, 3 tool calls'],
      ...['usage     1009 tokens in, 211 out, $0.37', 'prompt    Look', '  at it.', 'error     No model answered', ''],
    ]);
  });

  it.each([
    ['Eleven.', 'Eleven.'],
    [{ sheep: 11 }, '{\n  "sheep": 11\n}'],
  ])('ends with the answer %j', async (response, end) => {
    answers = { [`GET /api/tasks/${ID(7)}`]: task({ ...shown, response }) };
    const { out } = await perdura('tasks', 'show', ID(7));
    expect(out.split('\n').slice(2, 5)).toEqual([
      ...[`workflow  Daily (${ID(5)})`, `agent     Clerk (${ID(3)})`, 'model     small'],
    ]);
    expect(out.endsWith(`\n  at it.\n\n${end}\n`)).toBe(true);
  });

  it.each([
    [0.37, true, '$0.37'],
    [0, true, '$0'],
    [0.37, false, '$0.37, cost partly unknown'],
    [null, false, 'cost unknown'],
  ])('shows a cost of %s, of which all is known: %s', async (cost, priced, words) => {
    const usage = { total_in: 1_009, total_out: 211, cost, priced };
    answers = { [`GET /api/tasks/${ID(7)}`]: task({ ...shown, usage }) };
    const { failure, out } = await perdura('tasks', 'show', ID(7));
    expect([failure, /^usage +(.*)$/m.exec(out)?.[1]]).toEqual([null, `1009 tokens in, 211 out, ${words}`]);
  });
});

describe('perdura tasks ls', () => {
  it('prints a line for each run', async () => {
    answers = { 'GET /api/tasks': [task(), task({ id: ID(3), status: 'failed', workflow_title: null, prompt: 'x'.repeat(70) })] };
    expect((await perdura('tasks', 'ls')).out.split('\n')).toEqual([
      `${'ID'.padEnd(ID(7).length)}  STATUS     ${'CREATED'.padEnd(26)}  WORKFLOW  PROMPT`,
      `${ID(7)}  completed  2026-01-31 12:13:14 +00:00  Daily     Look at it.`,
      `${ID(3)}  failed     2026-01-31 12:13:14 +00:00  Clerk     ${'x'.repeat(59)}…`,
      '',
    ]);
    expect(received.map(({ line }) => line)).toEqual(['GET /api/tasks?limit=20']);
  });

  it.each([
    ['waiting', `To see what a run waits for, and what to do: perdura logs ${ID(3)}\n`],
    ['running', ''],
  ])('names what to do about the first run that waits: %s', async (status, errors) => {
    answers = { 'GET /api/tasks': [task(), task({ id: ID(3), status }), task({ id: ID(5), status })] };
    expect(await perdura('tasks', 'ls')).toMatchObject({ failure: null, errors });
  });

  it('asks for a status and a workflow, by its title', async () => {
    const workflows = [
      { id: ID(1), title: 'Other' },
      { id: ID(2), title: 'Daily' },
    ];
    answers = { 'GET /api/workflows': workflows, 'GET /api/tasks': [] };
    await perdura('tasks', 'ls', '--status', 'failed', '--workflow', 'Daily');
    expect(received.at(-1)?.line).toBe(`GET /api/tasks?limit=20&status=failed&workflow_id=${ID(2)}`);
    answers = { ...answers, 'GET /api/workflows': [...workflows, { id: ID(3), title: 'Daily' }] };
    const several = await perdura('tasks', 'ls', '--workflow', 'Daily');
    expect(several.failure).toContain(`name one by its id: ${ID(2)}, ${ID(3)}`);
  });

  it('reads as many pages as it needs, and prints no more than it was asked for', async () => {
    const page = (from: number) => Array.from({ length: 1_000 }, (_, index) => task({ id: `t${from + index}` }));
    answers = {
      'GET /api/tasks': ({ searchParams }) =>
        searchParams.get('cursor') === 'next'
          ? { reply: page(1_000), headers: { link: '</api/tasks?cursor=last>; rel="next"' } }
          : { reply: page(0), headers: { link: '</api/tasks?cursor=next>; rel="next"' } },
    };
    const { out } = await perdura('tasks', 'ls', '--limit', '1003', '--json');
    expect((JSON.parse(out) as { id: string }[]).map(({ id }) => id)).toEqual(
      Array.from({ length: 1_003 }, (_, index) => `t${index}`),
    );
    expect(received.map(({ line }) => line)).toEqual(['GET /api/tasks?limit=1000', 'GET /api/tasks?limit=1000&cursor=next']);
  });

  it.each(['0', '-1', '1.5', 'many'])('refuses the limit %s', async (limit) => {
    expect((await perdura('tasks', 'ls', '--limit', limit)).failure).toContain('--limit');
    expect(received).toEqual([]);
  });
});

describe('perdura tasks halt', () => {
  it('answers in words or JSON', async () => {
    answers = { [`POST /api/tasks/${ID(7)}/stop`]: { task_id: ID(7), status: 'running' } };
    expect((await perdura('tasks', 'halt', ID(7))).out).toBe(`Asked to stop: ${ID(7)}; it ends within seconds\n`);
    const { out } = await perdura('tasks', 'halt', ID(7), '--json');
    expect(JSON.parse(out)).toEqual({ task_id: ID(7), status: 'running' });
  });
});

describe('perdura tasks retry', () => {
  it.each<[string, object, object]>([
    ['alone', { attachments: [], reasoning_effort: null }, {}],
    ['with its files', { attachments: [{ id: ID(1), name: 'a.txt' }], reasoning_effort: null }, { attachments: [{ id: ID(1) }] }],
    ['with its effort', { attachments: [], reasoning_effort: 'high' }, { reasoning_effort: 'high' }],
  ])('sends the prompt of a run again %s', async (_, more, sent) => {
    answers = {
      [`GET /api/tasks/${ID(7)}`]: task({ workflow_id: ID(5), ...more }),
      [`POST /api/workflows/${ID(5)}/prompt`]: { task_id: ID(9), workflow_id: ID(5), status: 'pending' },
    };
    expect(await perdura('tasks', 'retry', ID(7))).toMatchObject({ out: `${ID(9)}\n`, failure: null });
    expect(received.at(-1)?.body).toEqual({ prompt: 'Look\n  at it.', ...sent });
  });
});

describe('a list', () => {
  const [at, shown] = ['2031-01-02T03:05:07.000Z', '2031-01-02 03:05:07 +00:00'];
  const cron = { cron: '30 7 * * *', time_zone: 'Europe/Berlin', interval_value: null, interval_unit: null };
  const interval = { cron: null, time_zone: null, interval_value: 17, interval_unit: 'minutes' };
  const key = { hint: 'pk_7', role: 'viewer', scopes: ['read', 'prompt'], last_used_at: null };
  const alert = { state: 'firing', state_since: at, measure: 'spend', threshold: 13 };

  it.each<['alerts' | 'keys' | 'schedules' | 'tokens', string, object[], string[][]]>([
    [
      'schedules',
      'GET /api/scheduled-agents',
      [
        { id: ID(1), name: 'daily', ...cron, enabled: true, next_run_at: at, last_run_at: null },
        { id: ID(2), name: 'often', ...interval, enabled: false, next_run_at: at, last_run_at: at },
      ],
      [
        [ID(1), 'daily', '30 7 * * * (Europe/Berlin)', shown, '-'],
        [ID(2), 'often', 'every 17 minutes', 'disabled', shown],
      ],
    ],
    [
      'tokens',
      'GET /api/tokens',
      [
        { name: 'mine', shared: false, updated_at: at, used_by: [] },
        { name: 'ours', shared: true, updated_at: at, used_by: ['agent a', 'agent b'] },
      ],
      [
        ['mine', 'no', shown, '-'],
        ['ours', 'yes', shown, 'agent a, agent b'],
      ],
    ],
    [
      'keys',
      'GET /api/keys',
      [
        { id: ID(1), name: 'lasting', ...key, expires_at: null },
        { id: ID(2), name: 'brief', ...key, expires_at: at },
      ],
      [
        [ID(1), 'lasting', 'pk_7', 'viewer', 'read,prompt', 'never', '-'],
        [ID(2), 'brief', 'pk_7', 'viewer', 'read,prompt', shown, '-'],
      ],
    ],
    [
      'alerts',
      'GET /api/alerts',
      [
        { id: ID(1), name: 'on', enabled: true, ...alert },
        { id: ID(2), name: 'off', enabled: false, ...alert },
      ],
      [
        [ID(1), 'firing', shown, 'spend', '13', 'on'],
        [ID(2), 'disabled', shown, 'spend', '13', 'off'],
      ],
    ],
  ])('of %s has a line for each', async (kind, route, items, rows) => {
    answers = { [route]: items };
    const { out } = await perdura(kind, 'ls');
    const [, ...lines] = out.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual(rows);
    expect(JSON.parse((await perdura(kind, 'ls', '--json')).out)).toEqual(items);
  });
});

describe('perdura run', () => {
  it('prints the id of the new run, or all of it', async () => {
    const accepted = { task_id: ID(5), workflow_id: ID(1), status: 'pending' };
    answers = { [`POST /api/workflows/${ID(1)}/prompt`]: accepted };
    expect(await perdura('run', ID(1), 'Go.')).toMatchObject({ out: `${ID(5)}\n`, code: 0, failure: null });
    expect(received).toEqual([{ line: `POST /api/workflows/${ID(1)}/prompt`, body: { prompt: 'Go.' } }]);
    expect(JSON.parse((await perdura('run', ID(1), 'Go.', '--json')).out)).toEqual(accepted);
  });
});

describe.each([
  ['approve', 'Approved'],
  ['deny', 'Denied'],
] as const)('perdura %s', (name, done) => {
  const call = (call_id: string, status: string) => ({ call_id, status, name: 'pay', arguments: '{"a":7}' });
  const steps = (...calls: object[]) => ({ [`GET /api/tasks/${ID(7)}/steps`]: [{ tool_calls: calls }] });
  const decided = (call_id: string) => ({ [`POST /api/tasks/${ID(7)}/approvals/${call_id}`]: task({ status: 'running' }) });

  it('decides about the call that waits for an approval, with the message', async () => {
    const calls = [call('1-1', 'done'), call('1-2', 'waiting_reconciliation'), call('1-3', 'waiting_approval')];
    answers = { ...steps(...calls), ...decided('1-3') };
    expect((await perdura(name, ID(7), '--message', 'So.')).out).toBe(`${done}: 1-3; the run is running\n`);
    expect(received.at(-1)).toEqual({
      ...{ line: `POST /api/tasks/${ID(7)}/approvals/1-3`, body: { decision: name, message: 'So.' } },
    });
  });

  it('decides about the one that is named, and asks which if several wait', async () => {
    answers = { ...steps(call('1-1', 'waiting_approval'), call('1-2', 'waiting_approval')), ...decided('1-2') };
    const several = await perdura(name, ID(7));
    expect(several.failure).toContain('Several calls wait; name one of them:\n  1-1  pay {"a":7}\n  1-2  pay {"a":7}');
    expect(received.map(({ line }) => line)).toEqual([`GET /api/tasks/${ID(7)}/steps`]);
    const named = await perdura(name, ID(7), '1-2', '--json');
    expect(JSON.parse(named.out)).toEqual(task({ status: 'running' }));
    expect(received.at(-1)?.body).toEqual({ decision: name });
    answers = steps(call('1-1', 'waiting_client'));
    expect((await perdura(name, ID(7))).failure).toBe(`No tool call of the run ${ID(7)} waits for approval`);
  });
});

describe('perdura logs', () => {
  it('prints what happened in the order in which it did', async () => {
    const at = (second: number) => `2026-01-31T12:00:0${second}.000Z`;
    const logs = [
      { event: 'run_started', detail: '', timestamp: at(1) },
      { event: 'completed', detail: 'Done', timestamp: at(5) },
    ];
    const messages = [
      { role: 'assistant', content: '', tool_calls: [{ name: 'look' }], created_at: at(2) },
      { role: 'tool', content: '7', tool_calls: null, created_at: at(3) },
    ];
    answers = { [`GET /api/tasks/${ID(7)}`]: task({ logs, messages }) };
    expect((await perdura('logs', ID(7))).out.split('\n')).toEqual([
      ...[
        '12:00:01 +00:00  run_started',
        '12:00:02 +00:00  assistant: [{"name":"look"}]',
        '12:00:03 +00:00  tool: 7',
        '12:00:05 +00:00  completed: Done',
        '',
      ],
    ]);
    expect(JSON.parse((await perdura('logs', ID(7), '--json')).out)).toEqual({ logs, messages });
  });
});

describe('perdura export', () => {
  const bundle = { version: '1.0', skills: [{ name: 'tone' }] };

  it.each<[string, string[], 'yaml' | 'json']>([
    ['a.json', [], 'json'],
    ['a.yaml', [], 'yaml'],
    ['a.yml', [], 'yaml'],
    ['a.txt', ['--yaml'], 'yaml'],
    ['b.yaml', ['--json'], 'json'],
  ])('writes %s %j as %s', async (file, options, format) => {
    answers = { 'GET /api/export': bundle };
    expect(await perdura('export', '--output', join(folder, file), ...options)).toMatchObject({ out: '', failure: null });
    const written = await readFile(join(folder, file), 'utf8');
    expect(written).toBe(
      format === 'json' ? `${JSON.stringify(bundle, null, 2)}\n` : 'version: "1.0"\nskills:\n  - name: tone\n',
    );
    expect(parse(written)).toEqual(bundle);
  });

  it('prints to those who name no file', async () => {
    answers = { 'GET /api/export': bundle };
    expect(JSON.parse((await perdura('export')).out)).toEqual(bundle);
  });
});

describe('perdura import', () => {
  const result = (more: object = {}) => ({ created: 0, errors: [], ids: [], warnings: [], ...more });
  const send = async (source: string, ...options: string[]) => {
    await writeFile(join(folder, 'bundle'), source);
    return perdura('import', join(folder, 'bundle'), ...options);
  };

  it('sends a bundle, or the items of one kind, and names what was created', async () => {
    const skills = result({ created: 2, warnings: [{ path: 'skills.0', message: 'So so' }] });
    answers = { 'POST /api/import': { skills, agents: result(), warnings: [{ path: 'x', message: 'Unknown' }] } };
    expect(JSON.parse((await send('version: "1.0"', '--json')).out)).toEqual({ skills, agents: result() });
    received.length = 0;
    const whole = await send('version: "1.0"\nskills: [{name: a}]\n');
    expect(whole).toMatchObject({ out: 'skills: 2 created\n', errors: 'warning: Unknown\nwarning: So so\n', code: 0 });
    await send(JSON.stringify({ version: '1.0', resource_type: 'agent', items: [{ name: 'a' }] }), '--dry-run');
    expect(received.map(({ line, body }) => [line, body])).toEqual([
      ['POST /api/import?dry_run=false', { version: '1.0', skills: [{ name: 'a' }] }],
      ['POST /api/import?dry_run=true', { version: '1.0', agents: [{ name: 'a' }] }],
    ]);
  });

  it('exits with 1 if an item was not created', async () => {
    answers = { 'POST /api/import': { skills: result({ created: 1 }), agents: result({ errors: ['agents.0: No'] }) } };
    expect(await send('version: "1.0"', '--dry-run')).toMatchObject({
      ...{ out: 'skills: 1 would be created\n', errors: 'not created: agents.0: No\n', code: 1 },
    });
  });

  it.each([
    ['[1]', 'is not an export bundle'],
    ['a: [', 'is not valid YAML or JSON: '],
  ])('refuses %s', async (source, reason) => {
    expect((await send(source)).failure).toContain(reason);
    expect(received).toEqual([]);
  });
});

describe('perdura apply', () => {
  const ME = { 'GET /api/me': { id: 'local:alice' } };
  const installed = (...names: string[]) => ({
    'GET /api/export': {
      skills: names.map((name, index) => ({ id: ID(index), name, description: '', instructions: 'Be.', tags: [] })),
    },
    'GET /api/skills': names.map((name, index) => ({
      id: ID(index),
      name,
      created_by: name === 'of bob' ? 'local:bob' : 'local:alice',
    })),
  });
  const declare = (...names: string[]) =>
    writeFile(
      join(folder, 'declared.yaml'),
      names.map((name) => `kind: skill\nname: ${name}\ninstructions: Be.\n`).join('---\n'),
    );
  const apply = (...options: string[]) => perdura('apply', '-f', join(folder, 'declared.yaml'), ...options);
  const changes = () => received.map(({ line }) => line).filter((line) => !line.startsWith('GET'));

  it('deletes with --prune --yes what the caller made and the files do not have', async () => {
    answers = { ...ME, ...installed('kept', 'gone', 'of bob'), [`DELETE /api/skills/${ID(1)}`]: null };
    await declare('kept');
    expect(await apply('--prune', '--yes')).toMatchObject({ failure: null, code: 0 });
    expect(changes()).toEqual([`DELETE /api/skills/${ID(1)}`]);
  });

  it('changes nothing in a dry run, and nothing without a word where it would delete', async () => {
    answers = { ...ME, ...installed('gone') };
    await declare('kept');
    expect(await apply('--prune', '--yes', '--dry-run')).toMatchObject({ failure: null, code: 3 });
    expect((await apply('--prune')).failure).toContain('add --yes where nobody can answer');
    expect(changes()).toEqual([]);
  });

  it('refers to a tool by its name', async () => {
    const reply = { created: 1, errors: [], ids: [ID(8)], warnings: [] };
    answers = { ...installed(), 'POST /api/import': { agents: reply }, 'GET /api/custom-tools': [{ id: ID(3), name: 'pay' }] };
    await writeFile(join(folder, 'declared.yaml'), 'kind: agent\nname: payer\ncustom_tools: [pay]\n');
    expect(await apply()).toMatchObject({ failure: null });
    expect(received.at(-1)?.body).toMatchObject({ agents: [{ name: 'payer', custom_tool_ids: [ID(3)] }] });
  });

  it('creates what is missing, keeps the id of an export, and stops at the first failure with what was done', async () => {
    const reply = (part: object) => ({ skills: { created: 1, errors: [], ids: [ID(8)], warnings: [], ...part } });
    let sent = 0;
    answers = { ...installed(), 'POST /api/import': () => (++sent === 1 ? reply({}) : reply({ ids: [], errors: ['Too long'] })) };
    await declare(`a\nid: ${ID(9)}`, 'b', 'c');
    expect((await apply()).failure).toBe('create skill b: Too long (1 of 3 done)');
    const [first, second] = received.filter(({ line }) => line.startsWith('POST'));
    expect(first?.body).toMatchObject({ version: '1.0', skills: [{ id: ID(9), name: 'a', instructions: 'Be.' }] });
    expect(JSON.stringify(second?.body)).not.toContain('"id"');
    expect(changes()).toHaveLength(2);
  });
});

describe('perdura eval', () => {
  const PATH = '/api/datasets/d/runs';
  const evaluation = {
    id: 'e',
    status: 'completed',
    passed: 3,
    failed: 1,
    errors: 0,
    items: 4,
    definition_hash: 'h',
    pass_rate: 0.75,
  };
  const grade = { grader: 'exact', passed: false, reason: 'Not it' };
  const results = [
    { item_id: 'i1', status: 'passed', prompt: 'One', task_id: 't1', grades: [], error: null },
    { item_id: 'i2', status: 'failed', prompt: 'x'.repeat(81), task_id: 't2', grades: [grade], error: null },
    { item_id: 'i4', status: 'failed', prompt: 'Four', task_id: 't4', grades: [{ ...grade, reason: null }], error: null },
    { item_id: 'i3', status: 'error', prompt: 'Three', task_id: null, grades: [], error: 'No run' },
  ];
  const ended = (more: object = {}) => ({
    [`POST ${PATH}`]: evaluation,
    [`GET ${PATH}/e`]: { ...evaluation, regressions: [], ...more },
    [`GET ${PATH}/e/results`]: results,
  });
  const evaluate = (...options: string[]) => perdura('eval', '--dataset', 'd', '--workflow', 'w', ...options);

  it.each<[string, object, string[], number]>([
    ['all have to pass', {}, [], 1],
    ['all pass', { pass_rate: 1 }, [], 0],
    ['enough pass', {}, ['--pass-rate', '0.75'], 0],
    ['one too few passes', {}, ['--pass-rate', '0.76'], 1],
    ['one regressed', { pass_rate: 1, regressions: [{ item_id: 'i2' }] }, [], 1],
    ['it was halted', { status: 'halted', pass_rate: null }, ['--pass-rate', '0'], 2],
  ])('exits by its result if %s: %j %j', async (_, more, options, code) => {
    answers = ended(more);
    expect(await evaluate(...options)).toMatchObject({ code, failure: null });
  });

  it('names what did not pass, and what regressed', async () => {
    answers = ended({ regressions: [{ item_id: 'i3' }] });
    expect((await evaluate()).out.split('\n')).toEqual([
      'evaluation e',
      `failed     "${'x'.repeat(80)}…"  run t2: exact: Not it`,
      'failed     "Four"  run t4: failed',
      'REGRESSED  "Three"  run none: No run',
      'completed: 3 of 4 passed, 1 failed, 0 not graded, 1 regressed',
      'version h',
      '',
    ]);
  });

  it('sends what its options say', async () => {
    answers = ended({ pass_rate: 1 });
    await evaluate('--version', 'v', '--effects', 'stub', '--parallel', '7', '--baseline', 'b');
    expect(received[0]?.body).toEqual({
      ...{ workflow_id: 'w', graders: [{ type: 'exact' }], definition_hash: 'v', effects: 'stub', parallel: 7, baseline_id: 'b' },
    });
  });
});
