import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import runToolsCommand from '../../src/main/commands/tools.ts';
import { readConfig } from '../../src/main/config.ts';
import { startConfined } from '../../src/toolrunner/confined.ts';
import { findConfinement } from '../../src/toolrunner/confinement.ts';
import { installToolPackages } from '../../src/toolrunner/index.ts';
import { startInspector } from '../../src/toolrunner/inspection.ts';
import { findInterpreter } from '../../src/toolrunner/interpreter.ts';
import { encodeJob, WorkspaceOutside, workspaceName } from '../../src/toolrunner/job.ts';
import { shareTop, shareWorkspace } from '../../src/toolrunner/workspaces.ts';
import { readFrame } from '../../src/toolrunner/zygote.ts';

const shell = (script: string) => ['/bin/sh', '-c', script];

describe('an interpreter', () => {
  it.each([
    ['3.8.19', 'Tools need Python 3.9 or newer; /usr/bin/old is 3.8.19'],
    ['2.7.18', 'Tools need Python 3.9 or newer; /usr/bin/old is 2.7.18'],
    ['4.0.0', 'Tools need Python 3.9 or newer; /usr/bin/old is 4.0.0'],
    ['3.9.0', null],
  ])('of version %s is refused with %j', async (version, sentence) => {
    const folder = await mkdtemp(join(tmpdir(), 'perdura-python-'));
    const python = join(folder, 'python');
    await writeFile(python, `#!/bin/sh\necho '${JSON.stringify({ executable: '/usr/bin/old', version })}'\n`);
    await chmod(python, 0o755);
    const found = await findInterpreter(python).then(
      () => null,
      ({ message }) => message,
    );
    expect(found).toBe(sentence);
    await rm(folder, { recursive: true });
  });
});

describe('the process that reads tool files', () => {
  it('is reported with its exit code if it fails, and started again for the next file', async () => {
    const inspector = startInspector(shell('read line; exit 3'));
    const error = 'the process that reads tool files failed (exit code 3); check the installation of Python (line 1, column 1)';
    for (const name of ['one', 'two']) expect(await inspector.inspect(name, '')).toMatchObject({ valid: false, error });
    await inspector.close();
  });
});

describe('a workspace', () => {
  it('is below the directory for workspaces, if there is one', () => {
    expect(workspaceName('/work/run', { tier: 'namespaces', workspaces: '/work' })).toBe('run');
    expect(() => workspaceName('/work/run', { tier: 'namespaces', workspaces: null })).toThrow('is not below the directory');
  });

  it.runIf(process.getuid?.() === 0).each([
    ['is missing', 'none', WorkspaceOutside],
    ['lies in a file', 'file/inner', WorkspaceOutside],
    ['has a name longer than any', 'x'.repeat(300), expect.objectContaining({ code: 'ENAMETOOLONG' })],
  ])('that %s is not shared', async (_, name, refusal) => {
    const folder = await mkdtemp(join(tmpdir(), 'perdura-shared-'));
    await writeFile(join(folder, 'file'), '');
    for (const share of [shareWorkspace, shareTop]) await expect(share(join(folder, name))).rejects.toThrow(refusal);
    await rm(folder, { recursive: true });
  });

  it('with a path that does not fit into the header of a call is refused', () => {
    const job = (workspace: string) => ({
      ...{ name: 'tool', source: '', arguments: {}, env: {} },
      header: { timeout_ms: 1, workspace, network: false, proxy_port: 0 },
    });
    expect(
      encodeJob(job('w'.repeat(900)))
        .subarray(0, 1_024)
        .toString(),
    ).toContain('"workspace":"www');
    expect(() => encodeJob(job('w'.repeat(1_000)))).toThrow('the path of the workspace is too long');
  });
});

describe('the report of a call', () => {
  const HEAD = { kind: 'returned', message: '', exit: 0, stdout_bytes: 0, stderr_bytes: 0, sizes: [1, 0, 0] };

  it('is missing from a channel that is closed already', async () => {
    const channel = new PassThrough();
    await once(channel.destroy(), 'close');
    expect(await readFrame(channel)).toBeNull();
  });

  it('is missing if it is larger than that of any call', async () => {
    const channel = new PassThrough();
    channel.write(`${JSON.stringify(HEAD)}${'x'.repeat(1_200_000)}`);
    expect(await readFrame(channel)).toBeNull();
  });
});

describe('a confined command', () => {
  const confinement = { tier: 'process', reason: '', zygote: null, proxy: null, settings: () => ({}), close: async () => {} };
  const start = (script: string) =>
    startConfined({ command: 'x' }, { confinement, command: shell(script), host_paths: [], slots: new Set() } as never);

  it('whose sandbox ends before it has started is refused with that reason', async () => {
    await expect(start('exit 0')).rejects.toThrow('the sandbox ended before the command started');
  });

  it.each([
    [constants.errno.ENOMEM, 'ENOMEM'],
    [constants.errno.EACCES, undefined],
    [null, undefined],
  ])('that the sandbox cannot start for the error %s has the code %s', async (errno, code) => {
    const failed = start(`echo '{"failed": "no sandbox", "errno": ${errno}}' >&4; exec 4>&-`);
    const error = await failed.catch((reason: NodeJS.ErrnoException) => reason);
    expect([(error as Error).message, (error as NodeJS.ErrnoException).code]).toEqual(['no sandbox', code]);
  });

  it('whose supervisor is killed ends as if it was killed itself', async () => {
    const { exit } = await start(`echo '{"started": true}' >&4; exec 4>&-; kill -9 $$`);
    expect(await exit).toBe(137);
  });
});

describe.runIf(process.platform === 'linux')('a machine that cannot confine tools', () => {
  it.each([
    [undefined, /^namespaces: ENOENT.*; landlock: ENOENT/],
    ['strict', /^namespaces: ENOENT(?!.*landlock)/],
  ] as const)('is named with the reason of each tier that was tried, with isolation %s', async (isolation, reasons) => {
    const lines: string[] = [];
    const { tier, reason } = await findConfinement({
      options: { workspaces: '/nowhere/at/all', ...(isolation && { isolation }) },
      ...{ interpreter: {}, scratch: { socket: () => '/nowhere/socket' }, command: () => [] },
      log: (line: string) => lines.push(line),
    } as never);
    expect([tier, reason, lines]).toEqual([
      'refused',
      expect.stringMatching(reasons),
      [`tools will NOT run: they cannot be confined on this machine (${reason})`],
    ]);
  });
});

describe('an environment for tools that cannot be made', () => {
  it.each([
    ['echo on stderr >&2; echo on stdout', ': on stderr'],
    ['seq 11', ': 4\n5\n6\n7\n8\n9\n10\n11'],
    ['', ''],
  ])('is reported with the last lines of %j', async (script, reason) => {
    const home = await mkdtemp(join(tmpdir(), 'perdura-tools-'));
    const python = join(home, 'python');
    const facts = JSON.stringify({ executable: python, version: '3.12.0' });
    await writeFile(python, `#!/bin/sh\nif [ "$2" = venv ]; then ${script || ':'}; exit 7; fi\necho '${facts}'\n`);
    await chmod(python, 0o755);
    const message = `The environment for tools could not be made${reason}`;
    await expect(installToolPackages({ home, packages: [], python })).rejects.toThrow(new Error(message));
    await rm(home, { recursive: true });
  });
});

it.each([
  [false, ['This created the environment for tools. Restart all running Perdura processes so that they use it.']],
  [true, []],
])(
  '`perdura tools install` uses the interpreter that is set, and says if the environment is new (there was one: %s)',
  async (exists, more) => {
    const home = await mkdtemp(join(tmpdir(), 'perdura-tools-'));
    const python = join(home, 'python');
    const inside = join(home, 'tools-venv/bin/python');
    const facts = JSON.stringify({ executable: python, version: '3.12.0' });
    const make = `mkdir -p ${home}/tools-venv/bin && cp ${python} ${inside}`;
    await writeFile(
      python,
      `#!/bin/sh\nif [ "$2" = venv ]; then ${make}; elif [ "$1" = -m ]; then exit 0; else echo '${facts}'; fi\n`,
    );
    await chmod(python, 0o755);
    if (exists) execFileSync('sh', ['-c', make]);
    const lines: string[] = [];
    vi.spyOn(process.stdout, 'write').mockImplementation(((text: string) => lines.push(text.trim()) > 0) as never);
    onTestFinished(() => void vi.restoreAllMocks());
    await runToolsCommand(readConfig({ PERDURA_HOME: home, TOOLRUNNER_PYTHON: python }), [
      'install',
      'perdura-none-7',
      'perdura-none-11',
    ]);
    expect(lines).toEqual([`Installed for custom tools: perdura-none-7, perdura-none-11 (${inside})`, ...more]);
    expect(await readFile(inside, 'utf8')).toMatch(/^#!\/bin\/sh/);
    lines.length = 0;
    await runToolsCommand(readConfig({ PERDURA_HOME: home, TOOLRUNNER_PYTHON: python }), [
      'install',
      'perdura-none-13',
      '--json',
    ]);
    expect(JSON.parse(lines.join('\n'))).toEqual({ packages: ['perdura-none-13'], python: inside, is_new: false });
    await rm(home, { recursive: true });
  },
);
