import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfinedCommand, ToolRunnerOptions } from '../../src/toolrunner/index.ts';
import { type Bench, eventually, openBench, processesWith } from './support.ts';

const shell = (script: string, rest: Partial<ConfinedCommand> = {}): ConfinedCommand => ({
  command: '/bin/sh',
  args: ['-c', script],
  ...rest,
});

async function output(bench: Bench, command: ConfinedCommand, input = ''): Promise<{ out: string; err: string; code: number }> {
  const running = await bench.runner.startConfined(command);
  running.stdin.end(input);
  const [out, err, code] = await Promise.all([text(running.stdout), text(running.stderr), running.exit]);
  return { out, err, code };
}

/** A command that runs for long. */
export function testCommands(tiers: Record<string, ToolRunnerOptions>): void {
  describe.each(Object.entries(tiers))('a long-running command in the tier %s', (_, options) => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await openBench(options);
    });
    afterAll(() => bench.runner.close());

    it('has its own streams, arguments, environment and exit code', async () => {
      const command = shell('cat; echo "$KEY $0" >&2; env | cut -d= -f1 | sort | tr "\\n" " "; exit 7', {
        args: ['-c', 'cat; echo "$KEY" >&2; env | cut -d= -f1 | sort | tr "\\n" " "; exit 7'],
        env: { KEY: 'value' },
      });
      const { out, err, code } = await output(bench, command, 'typed');
      expect([code, err]).toEqual([7, 'value\n']);
      expect(out).toMatch(/^typed/);
      expect(
        out
          .slice(5)
          .split(' ')
          .filter(
            (name) =>
              ![
                'HOME',
                'KEY',
                'LANG',
                'OMP_NUM_THREADS',
                'OPENBLAS_NUM_THREADS',
                'PATH',
                'PWD',
                'TMPDIR',
                '_',
                'SHLVL',
                '',
              ].includes(name),
          ),
      ).toEqual([]);
    });

    it('speaks for as long as it likes', async () => {
      const running = await bench.runner.startConfined(shell('while read line; do echo "got $line"; done'));
      const said: string[] = [];
      running.stdout.on('data', (chunk) => said.push(String(chunk)));
      for (const word of ['one', 'two', 'three']) {
        running.stdin.write(`${word}\n`);
        expect(await eventually(() => said.join('').includes(`got ${word}`))).toBe(true);
      }
      running.stdin.end();
      expect(await running.exit).toBe(0);
    });

    it('ends with everything it started when it is killed', async () => {
      const mark = `9${Math.random()}`.replace('.', '');
      const running = await bench.runner.startConfined(shell(`(setsid sleep ${mark} &); sleep ${mark}`));
      expect(await eventually(() => processesWith(mark).length >= 2)).toBe(true);
      await running.kill();
      await running.kill();
      expect(await running.exit).toBe(137);
      expect(await eventually(() => processesWith(`sleep ${mark}`).length === 0)).toBe(true);
    });

    it('leaves nothing behind when it ends by itself', async () => {
      const mark = `8${Math.random()}`.replace('.', '');
      expect((await output(bench, shell(`setsid sleep ${mark} >/dev/null 2>&1 & exit 0`))).code).toBe(0);
      expect(await eventually(() => processesWith(`sleep ${mark}`).length === 0)).toBe(true);
    });

    it('ends when its signal aborts', async () => {
      const stop = new AbortController();
      const running = await bench.runner.startConfined(shell('sleep 60'), stop.signal);
      stop.abort();
      expect(await running.exit).toBe(137);
    });

    it('fails if the command does not exist, and names it', async () => {
      await expect(bench.runner.startConfined({ command: 'no-such-command' })).rejects.toThrow(
        'no-such-command: no such command inside the sandbox',
      );
    });
  });
}

/** What a confined command reaches. */
export function testRights(tiers: Record<string, ToolRunnerOptions>): void {
  describe.each(Object.entries(tiers))('what a command may do in the tier %s', (name, options) => {
    let dir: string;
    let bench: Bench;
    let origin: ReturnType<typeof createServer>;
    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), 'commands-'));
      chmodSync(dir, 0o755);
      for (const [path, mode] of [
        ['shared', 0o777],
        ['work/run', 0o777],
      ] as const) {
        mkdirSync(join(dir, path), { recursive: true });
        chmodSync(join(dir, path), mode);
      }
      for (const file of ['secret.txt', 'shared/given.txt']) writeFileSync(join(dir, file), 'content');
      origin = createServer((_, outgoing) => void outgoing.end('reached')).listen(0, '127.0.0.1');
      await new Promise((resolve) => origin.once('listening', resolve));
      const { port } = origin.address() as AddressInfo;
      bench = await openBench({
        ...options,
        workspaces: join(dir, 'work'),
        host_paths: { allow: [`${dir}:rw`], closed: [] },
        egress_allow: [`127.0.0.1:${port}`],
      });
    });
    afterAll(async () => {
      await bench.runner.close();
      origin.close();
      rmSync(dir, { recursive: true });
    });

    it('reads no file of the service', async () => {
      expect(await output(bench, shell(`cat ${dir}/secret.txt`))).toMatchObject({ out: '', code: 1 });
    });

    it('reads the paths it was given, and writes only where it may', async () => {
      const given = (writable: boolean) =>
        shell(`cat ${dir}/shared/given.txt; echo new > ${dir}/shared/new.txt`, {
          paths: [{ path: join(dir, 'shared'), writable }],
        });
      expect(await output(bench, given(false))).toMatchObject({ out: 'content', code: 2 });
      expect(() => readFileSync(join(dir, 'shared/new.txt'))).toThrow();
      expect(await output(bench, given(true))).toMatchObject({ out: 'content', code: 0 });
      expect(readFileSync(join(dir, 'shared/new.txt'), 'utf8')).toBe('new\n');
    });

    it('works in the workspace of its run', async () => {
      const workspace = join(dir, 'work/run');
      const { code } = await output(
        bench,
        shell('echo done > "$PERDURA_WORKSPACE/file" && test "$PWD" = "$PERDURA_WORKSPACE"', { workspace }),
      );
      expect(code).toBe(0);
      expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('done\n');
      await expect(bench.runner.startConfined(shell('true', { workspace: join(dir, 'shared') }))).rejects.toThrow(
        'not below the directory for workspaces',
      );
    });

    it('reaches the network through the proxy only, and only with permission', async () => {
      const { port } = origin.address() as AddressInfo;
      const fetch = (url: string) => `import urllib.request; print(urllib.request.urlopen("${url}", timeout=5).read().decode())`;
      const python = (url: string, network: boolean): ConfinedCommand => ({
        command: bench.interpreter.executable,
        args: ['-I', '-c', fetch(url)],
        network,
      });
      expect(await output(bench, python(`http://127.0.0.1:${port}/`, true))).toMatchObject({ out: 'reached\n', code: 0 });
      expect((await output(bench, python(`http://127.0.0.1:${port}/`, false))).out).toBe('');
      expect((await output(bench, python('http://169.254.169.254/', true))).err).toContain('not allowed from here');
    });

    it('is ended when it takes more memory or processes than it may', async () => {
      const hog: ConfinedCommand = {
        command: bench.interpreter.executable,
        args: ['-I', '-c', 'import time; x = bytearray(b"x" * (300 << 20)); time.sleep(60)'],
        limits: { memory_mb: 100 },
      };
      expect((await output(bench, hog)).code).toBe(137);
      const bomb = await output(
        bench,
        shell('i=0; while [ $i -lt 400 ]; do sleep 30 & i=$((i+1)); done; wait', { limits: { processes: 20 } }),
      );
      expect(bomb.code).not.toBe(0);
    });

    it.skipIf(name.startsWith('landlock'))('sees no process but its own', async () => {
      expect((await output(bench, shell('ls /proc | grep -c "^[0-9]"'))).out.trim()).toMatch(/^[1-6]$/);
    });
  });
}
