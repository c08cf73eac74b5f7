import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { startConfined } from '../../src/toolrunner/confined.ts';
import { startInspector } from '../../src/toolrunner/inspection.ts';
import { findInterpreter } from '../../src/toolrunner/interpreter.ts';
import { encodeJob, workspaceName } from '../../src/toolrunner/job.ts';
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

  it('whose supervisor is killed ends as if it was killed itself', async () => {
    const { exit } = await start(`echo '{"started": true}' >&4; exec 4>&-; kill -9 $$`);
    expect(await exit).toBe(137);
  });
});
