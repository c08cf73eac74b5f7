import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerTo, isRemote, wordsByCommand } from '../../../src/main/help.mjs';
import { COMPLETION_SCRIPTS } from '../../../src/main/remote/completion-scripts.ts';
import { loadLogin, loginFile, removeLogin, storeLogin } from '../../../src/main/remote/login.ts';
import { parseCommand, suggest, UsageError } from '../../../src/main/remote/options.ts';
import { baseEnv } from '../../support/machine/processes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-login-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a command line that is wrong', () => {
  it.each([
    ['approve', ['--unknown'], 'There is no option --unknown'],
    ['approve', ['a', '--mesage', 'x'], 'There is no option --mesage; did you mean --message?'],
    ['approve', [], 'The task is missing'],
    ['approve', ['a', 'b', 'hunter2'], 'It takes 2 words, not 3'],
    ['tasks', ['retyr', 'a'], 'There is no perdura tasks retyr; did you mean retry?'],
    ['tasks', ['zzzzzz'], 'There is no perdura tasks zzzzzz'],
    ['tasks', [], 'Write one of ls, show, halt, retry after perdura tasks'],
    ['agents', ['--json'], 'Write ls after perdura agents'],
    ['run', ['Daily', '- milk'], 'There is no option -; write -- before a word that begins with -'],
    ['tasks', ['ls', '--status'], "Option '--status <value>' argument missing"],
  ])('perdura %s %j is refused with the usage, and is not repeated', (command, args, reason) => {
    const parse = () => parseCommand(command, args);
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(expect.objectContaining({ message: reason, usage: expect.stringMatching(`^perdura ${command}`) }));
    expect(parse).not.toThrow('hunter2');
  });

  it('is right with a word that looks like an option after --, also like a question for help', () => {
    expect(parseCommand('run', ['--follow', '--', 'Daily', '- milk']).words).toEqual(['Daily', '- milk']);
    expect(answerTo(['run', 'Daily', '--', '--help'], '')).toBeNull();
    expect(answerTo(['run', '--help', '--', 'Daily'], '')).toMatch(/^perdura run /);
  });

  it('suggests nothing for a word that is no slip', () => {
    expect([suggest('tasls', ['tasks', 'tools']), suggest('fly', ['tasks', 'ls']), suggest('x', [])]).toEqual([
      '; did you mean tasks?',
      '',
      '',
    ]);
  });
});

it.each([
  ['Asia/Kolkata', '2026-03-03 01:45:07 +05:30 -'],
  ['America/St_Johns', '2026-03-02 16:45:07 -03:30 -'],
  ['UTC', '2026-03-02 20:15:07 +00:00 -'],
])('shows times in the zone of the computer, such as %s, with its offset', (TZ, shown) => {
  const table = new URL('../../../src/main/remote/table.ts', import.meta.url).href;
  const script = `import { formatTime } from '${table}'; console.log(formatTime('2026-03-02T20:15:07.000Z'), formatTime(null));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env: { ...baseEnv(), TZ } });
  expect(stdout.toString()).toBe(`${shown}\n`);
});

describe('what perdura login stores', () => {
  const login = { url: 'https://perdura.example', token: 'hunter2' };

  it('can be read by its owner only, and replaces what was stored', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'mine') } as Parameters<typeof storeLogin>[0];
    await storeLogin(config, { ...login, token: 'older' });
    const file = await storeLogin(config, login);
    expect([file, (await stat(file)).mode & 0o777]).toEqual([loginFile(config), 0o600]);
    expect(await loadLogin(config)).toEqual(login);
    expect([await removeLogin(config), await loadLogin(config), await removeLogin(config)]).toEqual([true, null, false]);
  });

  it('is not used if others can read it', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'open') } as Parameters<typeof storeLogin>[0];
    const file = await storeLogin(config, login);
    await chmod(file, 0o640);
    await expect(loadLogin(config)).rejects.toThrow(`${file} holds an access token and can be read by others; run chmod 600`);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(login);
  });
});

describe('completions', () => {
  const words = wordsByCommand();
  const script = (shell: string) => COMPLETION_SCRIPTS[shell]?.(words) ?? '';

  it('complete commands, verbs and options in bash', () => {
    const complete = (...typed: string[]) => {
      const line = `COMP_WORDS=(perdura ${typed.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${typed.length}; _perdura; echo "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', `${bash}\n${line}`])
        .stdout.toString()
        .trim();
    };
    const bash = script('bash');
    expect(complete('lo')).toBe('login logout logs');
    expect(complete('tasks', '')).toBe('ls show halt retry --status --workflow --limit --json --follow --help');
    expect(complete('apply', '--p')).toBe('--prune');
    expect(complete('completions', '')).toBe('bash zsh fish --help');
  });

  it('name every command in each shell', () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      expect([shell, Object.keys(words).filter((name) => !script(shell).match(RegExp(`[^\\w-]${name} `)))]).toEqual([shell, []]);
  });
});

it('describes the remote commands without needing Python, a database or a dashboard', () => {
  expect(Object.keys(wordsByCommand()).filter(isRemote)).toEqual(
    expect.arrayContaining(['login', 'run', 'logs', 'tasks', 'approve', 'deny', 'export', 'import', 'apply', 'completions']),
  );
  expect(['dev', 'api', 'worker', 'constructor'].filter(isRemote)).toEqual([]);
  expect(answerTo(['apply', '--help'], '')).toContain('--prune');
});
