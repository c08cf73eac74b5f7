import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../../src/main/config.ts';
import { loginFile, storeLogin } from '../../../src/main/remote/login.ts';
import { UsageError } from '../../../src/main/remote/options.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-usage-'));
});
afterEach(() => {
  process.exitCode = undefined;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const settings = (more: Record<string, string> = {}) =>
  readConfig({ XDG_CONFIG_HOME: join(folder, 'config'), PERDURA_HOME: join(folder, 'home'), ...more });

/** Runs a command in this process, which has no terminal; `failure` is what it throws, which `cli.ts` prints. */
async function perdura(line: string, more: Record<string, string> = {}) {
  const [name, ...args] = line.split(' ').filter(Boolean);
  const { default: command } = await import(`../../../src/main/commands/${name}.ts`);
  const printed = { out: '', errors: '' };
  const keep = (stream: keyof typeof printed) => (chunk: unknown) => {
    printed[stream] += String(chunk);
    return true;
  };
  const out = vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'));
  const errors = vi.spyOn(process.stderr, 'write').mockImplementation(keep('errors'));
  try {
    const failure: Error | null = await command(settings(more), args).then(
      () => null,
      (error: Error) => error,
    );
    return {
      ...printed,
      failure: failure?.message ?? null,
      usage: failure instanceof UsageError ? failure.usage : null,
      code: process.exitCode ?? 0,
    };
  } finally {
    out.mockRestore();
    errors.mockRestore();
  }
}

describe('the command line of a client', () => {
  it.each([
    ['login', 'Name the installation: --url https://perdura.example'],
    ['login --url nowhere', '--url is not a URL such as'],
    ['login --url https://me@perdura.example', '--url must not contain a user or password'],
    ['login --url https://:secret@perdura.example', '--url must not contain a user or password'],
    ['login --url https://perdura.example', 'Pipe the access token into it with --token-stdin'],
    ['login hunter2', 'It takes no words, not 1'],
    ['login --token hunter2', 'There is no option --token'],
    ['logout now', 'It takes no words, not 1'],
    ['tasks', 'Write one of ls, show, halt, retry after perdura tasks'],
    ['tasks rm', 'There is no perdura tasks rm'],
    ['tasks ls ls', 'It takes no words, not 1'],
    ['tasks ls --limit 0', '--limit must be a whole number from 1'],
    ['tasks ls --limit seven', '--limit must be a whole number from 1'],
    ['tasks show', 'The task is missing'],
    ['tasks halt a b', 'It takes 1 word, not 2'],
    ['tasks retry --json', 'The task is missing'],
    ['agents', 'Write ls after perdura agents'],
    ['keys show', 'There is no perdura keys show'],
    ['chat Desk --thread a', 'Name only one: an agent, a workflow or a thread'],
    ['chat Desk --workflow a', 'Name only one: an agent, a workflow or a thread'],
    ['chat --new', 'Name the agent or the workflow with which a thread begins'],
    ['chat --thread a --new', '--new begins a thread, and --thread continues one'],
    ['chat Refund desk', 'It takes 1 word, not 2'],
    ['steer a', 'The message is missing'],
    ['eval', 'Name the dataset: --dataset <id>'],
    ['eval --dataset a', 'Name the workflow: --workflow <id>'],
    ['eval --dataset a --workflow b --pass-rate 7', '--pass-rate must be a number from 0 to 1'],
    ['run Daily', 'The prompt is missing'],
    ['logs', 'The task is missing'],
    ['approve', 'The task is missing'],
    ['apply', 'Name a file or folder: -f agents.yaml'],
    ['completions', 'The shell is missing'],
    ['completions tcsh', 'There is no script for tcsh'],
    ['completions constructor', 'There is no script for constructor'],
  ])('refuses perdura %s, and shows how it is used', async (line, reason) => {
    const { failure, usage, out } = await perdura(line);
    expect([failure, out]).toEqual([expect.stringContaining(reason), '']);
    expect(usage).toMatch(new RegExp(`^perdura ${line.split(' ')[0]} `));
    expect(failure).not.toContain('hunter2');
  });

  it.each([
    ['http://perdura.example', true],
    ['http://127.0.0.1:7', false],
    ['http://localhost:7', false],
    ['http://[::1]:7', false],
    ['https://perdura.example', false],
  ])('warns before a token is typed that would travel to %s unencrypted: %s', async (url, warns) => {
    const { errors } = await perdura(`login --url ${url}`);
    expect(errors.includes('The access token travels unencrypted to perdura.example')).toBe(warns);
  });

  it('takes the installation of the environment for a login', async () => {
    const { failure } = await perdura('login', { PERDURA_API_URL: 'https://perdura.example', PERDURA_API_TOKEN: 'x' });
    expect(failure).toContain('Pipe the access token');
  });

  it.each(['bash', 'zsh', 'fish'])('prints the completions of %s', async (shell) => {
    expect(await perdura(`completions ${shell}`)).toMatchObject({ failure: null, out: expect.stringContaining('mcp-packages') });
  });
});

describe('a stored login', () => {
  it('is removed once', async () => {
    await storeLogin(settings(), { url: 'https://perdura.example', token: 'hunter2' });
    expect((await perdura('logout')).out).toBe('Signed out\n');
    expect((await perdura('logout')).out).toBe('Nobody was signed in\n');
    expect(JSON.parse((await perdura('logout --json')).out)).toEqual({ removed: false });
  });

  it.each([
    ['is not JSON', '{'],
    ['has no token', '{"url":"https://perdura.example"}'],
  ])('that %s asks for another login, and can be removed', async (_, text) => {
    const file = loginFile(settings());
    await writeFile(file, text, { mode: 0o600 });
    expect((await perdura('tasks ls')).failure).toBe(`${file} is damaged; run perdura login again`);
    expect(JSON.parse((await perdura('logout --json')).out)).toEqual({ removed: true });
  });

  it('that cannot be read is not taken for a missing one', async () => {
    await mkdir(loginFile(settings()));
    expect((await perdura('tasks ls')).failure).toContain('EISDIR');
    await rm(loginFile(settings()), { recursive: true });
  });
});

describe('the command line of an installation', () => {
  it.each<[string, string, Record<string, string>?]>([
    ['backup', 'The file is missing'],
    ['backup a b', 'It takes 1 word, not 2'],
    ['backup --without-key', 'The file is missing'],
    ['backup a', 'perdura backup is for the servers that npm start brings', { DATABASE_URL: 'postgres://u@127.0.0.1/p' }],
    ['backup a', 'perdura backup is for the servers that npm start brings', { TEMPORAL_ADDRESS: '127.0.0.1:7' }],
    ['restore', 'The file is missing'],
    ['restore a b', 'It takes 1 word, not 2'],
    ['restore --force', 'There is no option --force'],
    ['rotate-keys', 'Set DATABASE_URL and ENCRYPTION_KEYS'],
    ['rotate-keys', 'Set DATABASE_URL and ENCRYPTION_KEYS', { DATABASE_URL: 'postgres://u@127.0.0.1/p' }],
    ['migrate', 'Set DATABASE_URL; an embedded installation migrates by itself'],
    ['restored', 'There is no home'],
    ['doctor', 'No installation runs in'],
    ['doctor', 'No installation runs in', { PERDURA_READY_FILE: '/nonexistent/ready.json' }],
    ['worker --role cook', '--role: '],
    ['tools', 'Write install after perdura tools'],
    ['tools install', 'The package is missing'],
    ['tools remove humanize', 'There is no perdura tools remove'],
    ['demo', 'No running installation found here'],
    ['mcp-packages purge', 'There is no perdura mcp-packages purge'],
    ['mcp-packages ls --all', 'There is no option --all'],
    ['mcp-packages clear a b', 'It takes 1 word, not 2'],
  ])('refuses perdura %s: %s', async (line, reason, more = {}) => {
    expect(await perdura(line, more)).toMatchObject({ failure: expect.stringContaining(reason), out: '' });
  });

  it.each([
    ['mcp-packages ls', 'No packages of MCP servers are installed.\n'],
    ['mcp-packages ls --json', '[]\n'],
    ['mcp-packages clear', 'Nothing is installed.\n'],
    ['mcp-packages clear a@1', 'Nothing is installed as a@1; perdura mcp-packages ls lists what is.\n'],
  ])('answers perdura %s where no package is installed', async (line, out) => {
    expect(await perdura(line)).toMatchObject({ failure: null, out });
  });

  it('removes a package of an MCP server, and names it', async () => {
    const cache = join(folder, 'home/cache/mcp-packages');
    const key = '7'.repeat(32);
    const manifest = { registry: 'npm', specs: ['a@1', 'b'], directory: `${key}-x`, installed_at: '2031-01-02', bytes: 7 };
    await mkdir(join(cache, manifest.directory), { recursive: true });
    await writeFile(join(cache, `${key}.json`), JSON.stringify(manifest));
    expect(await perdura('mcp-packages ls')).toMatchObject({ out: '2031-01-02  npm  1 MiB  a@1 b\n' });
    const out = 'Removed a@1 b. The next start of a server installs its package again.\n';
    expect(await perdura('mcp-packages clear a@1')).toMatchObject({ failure: null, out });
    expect(await perdura('mcp-packages ls --json')).toMatchObject({ out: '[]\n' });
    await mkdir(join(cache, manifest.directory), { recursive: true });
    await writeFile(join(cache, `${key}.json`), JSON.stringify(manifest));
    const { directory: _, ...removed } = manifest;
    expect(JSON.parse((await perdura('mcp-packages clear a@1 --json')).out)).toEqual([removed]);
  });

  it('demonstrates a run with the model of the environment, and exits with 1 if it fails', async () => {
    const answers: Record<string, object> = {
      'GET /api/custom-tools': [{ name: 'another' }],
      'POST /api/custom-tools': { id: 't', name: 'count_words', parameters_schema: {} },
      'POST /api/tokens': {},
      'GET /api/providers': [{ id: 'p', name: 'openai' }],
      'PUT /api/providers/p': { id: 'p', name: 'openai', default_model: 'small' },
      'GET /api/agents': [],
      'POST /api/agents': { id: 'a' },
      'GET /api/workflows': [{ id: 'off', status: 'inactive' }],
      'POST /api/workflows': { id: 'w' },
      'POST /api/workflows/w/prompt': { task_id: 'x', stream_url: '/api/events' },
      'GET /api/tasks/x': { status: 'failed', error: 'No model', response: null, usage: null, engine_run_url: null },
    };
    const received: string[] = [];
    const server = createServer(async (request, response) => {
      const line = `${request.method} ${request.url?.split('?')[0]}`;
      received.push(`${line} ${await text(request)}`);
      const answer = answers[line];
      response.writeHead(answer ? 200 : 204).end(answer && JSON.stringify(answer));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const [token_file, ready] = [join(folder, 'token'), join(folder, 'ready.json')];
    await writeFile(token_file, 'hunter2');
    const api_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await writeFile(ready, JSON.stringify({ api_url, token_file, temporal_ui_url: null, demo_model_url: 'http://127.0.0.1:9' }));
    try {
      const { out, code } = await perdura('demo', { PERDURA_READY_FILE: ready, OPENAI_API_KEY: 'sk-7' });
      expect([code, out]).toEqual([1, expect.stringContaining('workflow   w\n')]);
      expect(out).toContain('status     failed: No model\nresponse   null\n');
      expect(received.find((line) => line.startsWith('POST /api/agents'))).toMatch(/"name":"[^"]+ \(openai\)"/);
      expect(received).toContain('GET /api/events ');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('notes for the next start that a home was restored', async () => {
    const home = join(folder, 'restored home');
    await mkdir(home);
    expect((await perdura('restored', { PERDURA_HOME: home })).out).toBe(
      `Noted in ${home}: a new epoch begins with the next start\n`,
    );
  });

  it('notes it also for programs', async () => {
    const home = join(folder, 'home of a program');
    await mkdir(home);
    const { out, errors } = await perdura('restored --json', { PERDURA_HOME: home });
    expect([JSON.parse(out), errors]).toEqual([{ noted_in: home, restore: null }, '']);
  });

  it('replays runs for people and programs, and exits with 1 if one differs', async () => {
    const same = resolve(import.meta.dirname, '../../temporal/bundles/denied.json');
    const bundle = JSON.parse(await readFile(same, 'utf8'));
    const other = join(folder, 'changed.json');
    await writeFile(other, JSON.stringify({ ...bundle, end: { ...bundle.end, turns: 7 } }));
    const end = { status: 'completed', turns: 2, turn_limit_reached: true };
    const difference = { step: 4, what: 'how the run ends', recorded: { ...end, turns: 7 }, replayed: end };
    expect(await perdura(`replay ${other} ${same}`)).toMatchObject({
      code: 1,
      errors: '',
      failure: null,
      out: [
        `DIFFERENT  ${other}: step 4: how the run ends`,
        `  recorded: ${JSON.stringify(difference.recorded)}`,
        `  replayed: ${JSON.stringify(end)}`,
        `same       ${same}: 4 steps, 2 tool calls, completed\n`,
      ].join('\n'),
    });
    const { code, out } = await perdura(`replay ${same} ${other} --json`);
    expect([
      code,
      ...out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ]).toEqual([
      1,
      { file: same, same: true, steps: 4, calls: 2, difference: null },
      { file: other, same: false, steps: 4, calls: 2, difference },
    ]);
    process.exitCode = undefined;
    expect((await perdura(`replay ${same} --json`)).code).toBe(0);
  });

  it('names what it cannot replay, and exits with 2', async () => {
    await mkdir(join(folder, 'a-folder'));
    const damaged = join(folder, 'damaged.json');
    await writeFile(damaged, '{"format":"perdura-run","version":1}');
    const other = join(folder, 'other.json');
    await writeFile(other, '{"format":"perdura-run"}');
    expect(await perdura('replay')).toMatchObject({
      failure: 'The bundle is missing',
      usage: 'perdura replay <bundle> … [--json]',
    });
    const { errors, code } = await perdura(`replay ${folder}/none ${folder}/a-folder ${damaged} ${other}`);
    expect(code).toBe(2);
    expect(errors.split('\n')).toEqual([
      `${folder}/none: No such file`,
      expect.stringMatching(/a-folder: EISDIR/),
      expect.stringMatching(/damaged.json: Damaged bundle: [a-z]/),
      `${other}: Bundle of version unknown; this Perdura reads version 1`,
      '',
    ]);
  });
});
