import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { newestDay, replaceKnownModels, SHIPPED_MODELS } from '../../src/domain/known-models.ts';
import exportAll from '../../src/main/commands/export.ts';
import { readConfig } from '../../src/main/config.ts';
import { COMMAND, commandLine } from '../support/command-line.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { knownModel } from '../support/known-model.ts';
import { type Answer, asks, fails, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
const folder = mkdtempSync(join(tmpdir(), 'perdura-cli-'));
const { start, outcome, perdura, terminal } = commandLine(folder);
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  expect(await perdura(['login', '--url', `${here.url}/`, '--token-stdin'], `${ALICE}\n`)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  replaceKnownModels(SHIPPED_MODELS);
  await here?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('helps those who ask, and those who mistype', async () => {
  const [help, mistyped] = await Promise.all([perdura(['--help']), perdura(['fly'])]);
  expect(help).toMatchObject({ code: 0, out: expect.stringMatching(/^perdura <command>\n/), errors: '' });
  expect(mistyped).toMatchObject({
    code: 2,
    out: '',
    errors: 'perdura has no command fly. perdura --help lists all commands\n',
  });
  const slips = await Promise.all([
    perdura(['taks', 'ls']),
    perdura(['tasks', 'hlat', 'x']),
    perdura(['tasks', 'ls', '--stats=x']),
  ]);
  expect(slips.map(({ code, out, errors }) => [code, out, errors.trimEnd().split('\n').at(-1)])).toEqual([
    [2, '', 'perdura has no command taks; did you mean tasks? perdura --help lists all commands'],
    [2, '', 'perdura tasks: There is no perdura tasks hlat; did you mean halt?'],
    [2, '', 'perdura tasks: There is no option --stats; did you mean --status?'],
  ]);
});

it('shows where a command failed only to those who debug', async () => {
  const [plain, debugged] = await Promise.all([perdura(['restore']), perdura(['restore'], '', { LOG_LEVEL: 'debug' })]);
  expect(plain).toMatchObject({ code: 2, errors: 'perdura restore <file> [--json]\n\nperdura restore: The file is missing\n' });
  expect(debugged).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/\n {4}at .*\n\nperdura restore: The file is missing\n$/s),
  });
});

async function json(...args: string[]) {
  const { code, out, errors } = await perdura([...args, '--json']);
  if (code !== 0) throw new Error(`perdura ${args.join(' ')} ended with ${code}: ${errors}`);
  return JSON.parse(out);
}

describe('perdura login', () => {
  it('keeps the token where only its owner reads it, and says whose it is', async () => {
    const file = join(folder, 'config/perdura/login.json');
    expect([JSON.parse(await readFile(file, 'utf8')), (await stat(file)).mode & 0o777]).toEqual([
      { url: here.url, token: ALICE },
      0o600,
    ]);
    const again = await perdura(['login', '--url', here.url, '--token-stdin'], ALICE);
    expect(again.out).toContain('as alice');
    expect(again.out + again.errors).not.toContain(ALICE);
  });

  it('is answered as JSON, and needs a token', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'another') };
    const empty = await perdura(['login', '--url', here.url, '--token-stdin'], ' \n', config);
    expect(empty).toMatchObject({ code: 2, errors: expect.stringContaining('The access token is empty') });
    const { out } = await perdura(['login', '--url', here.url, '--token-stdin', '--json'], ALICE, config);
    expect(JSON.parse(out)).toEqual({
      ...{ url: here.url, id: expect.any(String), login: 'alice', file: join(folder, 'another/perdura/login.json') },
    });
  });

  it('asks for the token in a terminal, and does not show it', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'terminal') };
    const { code, out } = await terminal(['login', '--url', here.url], 'Access token (it is not shown): ', ALICE, config);
    expect([code, out.includes('as alice'), out.includes(ALICE)]).toEqual([0, true, false]);
  });

  it('stores no token that the installation does not know', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'nobody') };
    const refused = await perdura(['login', '--url', here.url, '--token-stdin'], 'token-of-nobody', config);
    expect(refused).toMatchObject({ code: 1, out: '', errors: expect.stringContaining('The access token is not valid (401') });
    expect((await perdura(['tasks', 'ls'], '', config)).errors).toContain('Sign in with perdura login --url <url>');
  });
});

it('runs a workflow by its title and prints nothing but the answer', async () => {
  await here.workflow({ workflow: { title: 'Greeter' } });
  here.model.script(says('Good morning.'));
  const run = await perdura(['run', 'Greeter', '-', '--follow'], 'Greet me.');
  expect(run).toMatchObject({ code: 0, out: 'Good morning.\n' });
  const task_id = /^task (\S+)/.exec(run.errors)?.[1] as string;
  const [task] = await json('tasks', 'ls', '--workflow', 'Greeter', '--limit', '1');
  expect(task).toMatchObject({ id: task_id, prompt: 'Greet me.', status: 'completed' });
  // More than one page of the API.
  expect((await json('tasks', 'ls', '--limit', '1500')).map(({ id }: { id: string }) => id)).toContain(task_id);
  expect((await perdura(['logs', task_id])).out).toMatch(/user: Greet me\.\n[\s\S]*assistant: Good morning\.\n[\s\S]*completed/);
  expect(await perdura(['run', 'Nobody', 'Hello'])).toMatchObject({
    code: 1,
    errors: expect.stringContaining('no workflow with the title "Nobody"'),
  });
}, 60_000);

it.each<[string, number, Answer, string]>([
  ['completed', 0, says('Done.'), ''],
  ['failed', 1, fails(401), '401 scripted failure'],
  ['halted', 1, hangs('Half'), ''],
])(
  'follows a run that ends as %s, and exits with %i',
  async (status, code, answer, error) => {
    const id = await here.workflow();
    here.model.script(answer);
    const following = perdura(['run', id, 'Go.', '--follow']);
    if (status === 'halted') {
      const listRunning = () => here.alice.get(`/api/tasks?workflow_id=${id}&status=running`);
      const task_id = await vi.waitUntil(async () => ((await listRunning()).body as unknown as { id: string }[])[0]?.id, 30_000);
      await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    }
    expect(await following).toMatchObject({ code, errors: expect.stringContaining(error) });
    const [task] = (await here.alice.get(`/api/tasks?workflow_id=${id}`)).body as unknown as { status: string }[];
    expect(task?.status).toBe(status);
  },
  60_000,
);

it('prints each event as a line of JSON for programs', async () => {
  const id = await here.workflow();
  here.model.script(says('Seven.'));
  const run = await perdura(['run', id, 'Count.', '--follow', '--json']);
  const events = run.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'message', data: expect.objectContaining({ content: 'Seven.' }) }),
  );
  const task_id = /^task (\S+)/.exec(run.errors)![1]!;
  const { out } = await perdura(['logs', '-f', task_id, '--json']);
  expect(JSON.parse(out.trim().split('\n').at(-1)!)).toMatchObject({ type: 'status', data: { status: 'completed' } });
});

it('stops following at Ctrl-C, and leaves the run alone', async () => {
  const id = await here.workflow();
  here.model.script(hangs('Half'));
  const child = start([...COMMAND, 'run', id, 'Go.', '--follow']);
  child.stderr.on('data', (chunk: Buffer) => {
    if (chunk.includes('status: running')) child.kill('SIGINT');
  });
  const { code, errors } = await outcome(child);
  const task_id = /^task (\S+)/.exec(errors)![1]!;
  expect([code, errors]).toEqual([
    130,
    expect.stringContaining(`The run continues. To follow it again: perdura logs -f ${task_id}\n`),
  ]);
  expect((await here.alice.get(`/api/tasks/${task_id}`)).body.status).toBe('running');
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
});

it('approves the call that waits, while another terminal follows the run to its end', async () => {
  const id = await here.workflow({ tools: ['def pay(amount: int) -> int:\n    return amount\n'] });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  here.model.script(asks({ name, args: { amount: 7 } }), says('Paid.'));
  const task_id = (await perdura(['run', id, 'Pay 7.'])).out.trim();
  const following = perdura(['logs', '-f', task_id]);
  await expect.poll(async () => (await here.alice.get(`/api/tasks/${task_id}`)).body.status).toBe('waiting');
  expect(await perdura(['approve', task_id, '--message', 'fine'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Approved: 1-1/),
  });
  expect(await following).toMatchObject({ code: 0, out: expect.stringMatching(/assistant: Paid\.\n[\s\S]*status: completed/) });
  expect(await perdura(['deny', task_id])).toMatchObject({ code: 1, errors: expect.stringContaining('waits for approval') });
}, 60_000);

describe('perdura budgets', () => {
  it('lists what is left; a run warns when little is, and is refused with the reason when nothing is', async () => {
    const workflow_id = await here.workflow({ workflow: { title: 'Capped' } });
    const budget = { name: 'Short day', scope: 'workflow', subject_id: workflow_id, period: 'day', on_exhausted: 'refuse' };
    const { id, period_ends_at } = await here.alice.ok(here.alice.post('/api/budgets', { ...budget, limit_tokens: 5_003 }), 201);
    const ends = period_ends_at.replace('.000Z', 'Z');
    const shown_end = ends.replace('T', ' ').replace('Z', ' +00:00');
    here.model.script(says('Half.', { usage: { prompt_tokens: 4_001, completion_tokens: 53, total_tokens: 0 } }));
    await here.ended(await here.prompt(workflow_id));

    const listed = await perdura(['budgets', 'ls']);
    const row = ['Short day', `workflow ${workflow_id}`, '5003 tokens a day', '4054 tokens', '0 tokens', '949 tokens', shown_end];
    expect(listed).toMatchObject({ code: 0, errors: '' });
    expect(listed.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'LIMITS', 'LIMIT', 'SPENT', 'RESERVED', 'LEFT', 'PERIOD ENDS'],
      row,
      [''],
    ]);
    expect(await json('budgets', 'ls')).toMatchObject([{ id, name: 'Short day', spent: 4_054, left: 949 }]);

    here.model.script(says('Whole.', { usage: { prompt_tokens: 947, completion_tokens: 2, total_tokens: 0 } }));
    const warned = await perdura(['run', 'Capped', 'Go.', '--follow']);
    expect(warned).toMatchObject({
      ...{ code: 0, out: 'Whole.\n' },
      errors: expect.stringContaining(
        `warning: 81 % of the budget Short day of 5003 tokens are spent; it begins again at ${ends}\n`,
      ),
    });
    const refused = await perdura(['run', 'Capped', 'Again.']);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.errors).toMatch(
      new RegExp(`^perdura run: The budget Short day of 5003 tokens is used up until ${ends}: 5003 tokens are spent \\(429`),
    );

    await here.alice.ok(here.alice.put(`/api/budgets/${id}`, { on_exhausted: 'wait' }));
    const waits = await perdura(['run', 'Capped', 'Later.']);
    expect(waits.errors).toContain('5003 tokens are spent. The run waits until then, or until the budget is raised\n');
    here.model.script(says('Later.'));
    await here.alice.ok(here.alice.del(`/api/budgets/${id}`), 204);
    expect(await here.ended(waits.out.trim())).toMatchObject({ status: 'completed' });
  }, 60_000);

  it('has one verb', async () => {
    expect(await perdura(['budgets', 'spend'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('no perdura budgets spend'),
    });
  });
});

/** A login of Bob's, in a separate folder. */
async function asBob() {
  const config = { XDG_CONFIG_HOME: join(folder, 'of-bob') };
  expect(await perdura(['login', '--url', here.url, '--token-stdin'], BOB, config)).toMatchObject({ code: 0 });
  return config;
}

describe('perdura tasks', () => {
  it('shows a run, sends its prompt again, and refuses both to someone else', async () => {
    const workflow_id = await here.workflow({ workflow: { title: 'Shown' } });
    here.model.script(says('Eleven.'));
    const task_id = await here.prompt(workflow_id, 'Count the sheep.');
    await here.ended(task_id);
    const shown = await perdura(['tasks', 'show', task_id]);
    expect(shown).toMatchObject({ code: 0, errors: '' });
    expect(shown.out).toMatch(/^id +\S+\nstatus +completed\nworkflow +Shown \(/);
    expect(shown.out).toMatch(
      /\ncreated +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+00:00\n[\s\S]*\nprompt +Count the sheep\.\n\nEleven\.\n$/,
    );
    expect(await json('tasks', 'show', task_id)).toMatchObject({ id: task_id, response: 'Eleven.' });

    here.model.script(says('Thirteen.'));
    const again = await perdura(['tasks', 'retry', task_id, '--follow']);
    expect(again).toMatchObject({ code: 0, out: 'Thirteen.\n' });
    const listed = await perdura(['tasks', 'ls', '--workflow', 'Shown']);
    const rows = listed.out.trimEnd().split('\n');
    expect([rows[0]?.split(/ {2,}/), rows.length]).toEqual([['ID', 'STATUS', 'CREATED', 'WORKFLOW', 'PROMPT'], 3]);
    expect(rows.slice(1).map((row) => row.split(/ {2,}/).at(-1))).toEqual(['Count the sheep.', 'Count the sheep.']);

    const bob = await asBob();
    for (const verb of ['show', 'retry', 'halt'])
      expect(await perdura(['tasks', verb, task_id], '', bob)).toMatchObject({
        ...{ code: 1, out: '', errors: expect.stringMatching(/^perdura tasks: .*\(403/) },
      });
    expect(rows).toHaveLength(3);
  }, 60_000);

  it('halts a run, and says that one which has ended cannot be halted', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('Half'));
    const task_id = await here.prompt(workflow_id, 'Go.');
    await expect
      .poll(async () => (await here.alice.get(`/api/tasks/${task_id}`)).body.status, { timeout: 15_000 })
      .toBe('running');
    expect(await perdura(['tasks', 'halt', task_id])).toMatchObject({
      code: 0,
      out: `Asked to stop: ${task_id}; it ends within seconds\n`,
    });
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect(await perdura(['tasks', 'halt', task_id])).toMatchObject({
      code: 1,
      out: '',
      errors: expect.stringContaining('(409'),
    });
  }, 60_000);
});

describe('lists', () => {
  it('have headers, or are JSON, and show what is someone’s own only to them', async () => {
    const workflow_id = await here.workflow({ workflow: { title: 'Listed' } });
    await here.alice.ok(here.alice.post('/api/agents', { name: 'listed agent' }), 201);
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'listed-token', value: 'hunter2' }), 201);
    await here.alice.ok(here.alice.post('/api/keys', { name: 'listed key', role: 'viewer' }), 201);
    const schedule = { name: 'listed schedule', workflow_id, prompt: 'Go.', cron: '30 7 * * *', time_zone: 'Europe/Berlin' };
    await here.alice.ok(here.alice.post('/api/scheduled-agents', schedule), 201);
    const alert = { name: 'listed alert', measure: 'failure_rate', threshold: 0.7, webhook_url: 'https://hooks.example/a' };
    await here.alice.ok(here.alice.post('/api/alerts', alert), 201);
    const bob = await asBob();
    const KINDS: [string, string, string, boolean][] = [
      ['agents', 'ID NAME MODEL CHANGED', 'listed agent', true],
      ['workflows', 'ID STATUS RUNS LAST RUN TITLE', 'Listed', false],
      ['schedules', 'ID NAME WHEN NEXT RUN LAST RUN', 'listed schedule', false],
      ['tokens', 'NAME SHARED CHANGED USED BY', 'listed-token', false],
      ['keys', 'ID NAME KEY ROLE SCOPES EXPIRES LAST USED', 'listed key', false],
      ['alerts', 'ID STATE SINCE MEASURE THRESHOLD NAME', 'listed alert', false],
    ];
    for (const [kind, titles, name, shared] of KINDS) {
      const [mine, theirs] = await Promise.all([perdura([kind, 'ls']), perdura([kind, 'ls'], '', bob)]);
      expect([kind, mine.code, mine.errors, mine.out.split('\n')[0]?.replaceAll(/ +/g, ' ')]).toEqual([kind, 0, '', titles]);
      expect([kind, mine.out.includes(name), theirs.code, theirs.out.includes(name)]).toEqual([kind, true, 0, shared]);
      expect(mine.out).not.toContain('hunter2');
      expect((await json(kind, 'ls', '--limit', '1')).length).toBe(1);
    }
  }, 120_000);
});

describe('perdura models', () => {
  it('shows the catalogue, and lets an administrator replace it by a file', async () => {
    const shown = await perdura(['models', 'show']);
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('from this version of Perdura') });
    const as_of = newestDay(SHIPPED_MODELS);
    const text = JSON.stringify({ format: 1, models: [knownModel({ id: 'm-7', as_of, price: { input: 3, output: 5 } })] });
    await writeFile(join(folder, 'models.json'), text);
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    const refused = await perdura(['models', 'update', 'models.json', '--digest', digest.replace(/.$/, 'g')]);
    expect(refused).toMatchObject({ code: 1, out: '', errors: expect.stringContaining('64 hexadecimal digits') });
    const replaced = await perdura(['models', 'update', 'models.json', '--digest', digest]);
    const today = new Date().toISOString().slice(0, 10);
    expect(replaced.out).toBe(
      `1 model, the newest entry of ${as_of}\nfrom models.json, ${today}, by local:alice\n${digest}\nopenai           1 models, 1 with a price\n`,
    );
    expect((await json('models', 'show')).models).toMatchObject([{ id: 'm-7' }]);
    const reset = await perdura(['models', 'reset']);
    expect(reset).toMatchObject({ code: 0, out: expect.stringContaining('from this version of Perdura') });
    expect(await json('models', 'show')).toMatchObject({ from: 'release', as_of });
  });

  it('says what is missing on the command line', async () => {
    expect(await perdura(['models', 'update'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('The file or URL is missing'),
    });
    expect(await perdura(['models', 'show', '--force'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('There is no option --force'),
    });
    expect(await perdura(['models', 'reset', 'models.json'])).toMatchObject({ code: 2 });
    expect(await perdura(['models', 'empty'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('There is no'),
    });
  });
});

describe('perdura apply', () => {
  const FILE = `kind: workflow
title: Declared
agent: declared
skills: [declared tone]
---
kind: agent
name: declared
system_prompt: |
  Add.
  Check.
---
kind: skill
name: declared tone
instructions: Be kind.
`;

  it('makes an installation as declared, shows what differs, and deletes only if it may', async () => {
    const file = join(folder, 'declared.yaml');
    await writeFile(file, FILE);
    const dry = await perdura(['apply', '-f', file, '--dry-run']);
    expect(dry).toMatchObject({ code: 3, out: expect.stringContaining('3 to create, 0 to change, 0 to delete, 0 unchanged') });
    expect((await here.alice.get('/api/agents?q=declared')).body).toEqual([]);
    expect((await perdura(['apply', '-f', file])).code).toBe(0);
    const [agent] = (await here.alice.get('/api/agents?q=declared')).body as unknown as Record<string, any>[];
    const [skill] = (await here.alice.get('/api/skills?q=declared')).body as unknown as Record<string, any>[];
    const [workflow] = (await here.alice.get('/api/workflows?q=Declared')).body as unknown as Record<string, any>[];
    expect([agent?.system_prompt, workflow?.agent_id, workflow?.skill_ids]).toEqual(['Add.\nCheck.\n', agent?.id, [skill?.id]]);
    await writeFile(
      file,
      `${FILE.replace('Check.', 'Check twice.').split('---\nkind: skill')[0]?.replace('skills: [declared tone]', 'skills: []')}`,
    );
    const changed = await perdura(['apply', '-f', file]);
    expect(changed).toMatchObject({ code: 0, out: expect.stringContaining('      - Check.\n      + Check twice.\n') });
    expect(changed.out).toContain('0 to create, 2 to change, 0 to delete, 0 unchanged');
    await here.alice.ok(here.alice.post('/api/agents', { name: 'superfluous' }), 201);
    await here.bob.ok(here.bob.post('/api/agents', { name: 'of Bob' }), 201);
    const others = (await here.alice.get('/api/agents')).body as unknown as { name: string }[];
    const asked = await perdura(['apply', '-f', file, '--prune']);
    expect(asked).toMatchObject({
      code: 2,
      out: expect.stringContaining('- agent superfluous\n'),
      errors: expect.stringContaining('--yes'),
    });
    const refused = await terminal(['apply', '-f', file, '--prune'], 'Delete and change this? [y/N] ', 'n');
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('Nothing was changed') });
    expect((await here.alice.get('/api/agents')).body).toEqual(others);
    expect(asked.out).not.toContain('of Bob');
  }, 60_000);

  it('and import read a pipe', async () => {
    const skill = { name: 'from a pipe', instructions: 'Be.' };
    const declared = await perdura(['apply', '-f', '-', '--dry-run'], JSON.stringify({ kind: 'skill', ...skill }));
    expect(declared).toMatchObject({ code: 3, out: expect.stringContaining('+ skill from a pipe\n') });
    const imported = await perdura(['import', '-'], JSON.stringify({ version: '1.0', skills: [skill] }));
    expect(imported).toMatchObject({ code: 0, out: 'skills: 1 created\n' });
  });

  it('finds nothing to change in an export, nor prune', async () => {
    const file = join(folder, 'bundle.yaml');
    expect(await perdura(['export', '--output', file])).toMatchObject({ code: 0, out: '' });
    expect(await json('apply', '-f', file, '--prune', '--dry-run')).toEqual({
      steps: [],
      unchanged: expect.any(Number),
      applied: false,
    });
    const imported = await perdura(['import', file, '--dry-run']);
    expect(imported).toMatchObject({ code: 1, errors: expect.stringContaining('There is already an agent with this name') });
  }, 60_000);
});

it.each([
  ['JSON', 'plain.json', []],
  ['JSON', 'plain', []],
  ['JSON', 'named.yaml', ['--json']],
  ['YAML', 'named.yaml', []],
  ['YAML', 'short.yml', []],
  ['YAML', 'named.json', ['--yaml']],
] as const)('exports %s to %s with the options %j', async (format, name, options) => {
  const file = join(folder, name);
  await exportAll(readConfig({ PERDURA_API_URL: here.url, PERDURA_API_TOKEN: ALICE }), ['--output', file, ...options]);
  const written = await readFile(file, 'utf8');
  expect(written.startsWith('{') ? 'JSON' : 'YAML').toBe(format);
  const bundle = await here.alice.ok(here.alice.get('/api/export'));
  expect(parse(written)).toEqual({ ...bundle, exported_at: expect.any(String) });
});
