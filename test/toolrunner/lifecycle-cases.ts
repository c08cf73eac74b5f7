import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startToolRunner, type ToolRunnerOptions } from '../../src/toolrunner/index.ts';
import { type Bench, eventually, openBench, processesWith } from './support.ts';

const cleanups: (() => unknown)[] = [];
/** Ends what a test has opened. Each file registers it: this module is loaded once for all files. */
export async function cleanUp(): Promise<void> {
  for (const clean of cleanups.splice(0).reverse()) await clean();
}

export function makeDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lifecycle-'));
  chmodSync(dir, 0o711);
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export async function open(options: Parameters<typeof openBench>[0]): Promise<Bench> {
  const bench = await openBench(options);
  cleanups.push(() => bench.runner.close());
  return bench;
}

/** A service in a separate process, so that it can be killed. */
function service(options: object): string {
  const index = fileURLToPath(new URL('../../src/toolrunner/index.ts', import.meta.url));
  return `
    const { startToolRunner } = await import(${JSON.stringify(index)});
    const runner = await startToolRunner(${JSON.stringify(options)});
    const source = 'import subprocess, time\\ndef tool():\\n subprocess.Popen(["sleep", "777"], start_new_session=True)\\n time.sleep(777)';
    void runner.run({ name: 'tool', source, arguments: {}, env: {}, call_key: 'k' }, new AbortController().signal);
    await runner.startConfined({ command: '/bin/sh', args: ['-c', 'setsid sleep 777 & sleep 777'] });
    await runner.inspect('tool', source);`;
}

interface Process {
  pid: number;
  parent: number;
  args: string;
}

/** Every process that came from this one. */
function family(root: number): Process[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,args='])
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, ...args]): Process => ({ pid: Number(pid), parent: Number(parent), args: args.join(' ') }));
  const found: Process[] = [];
  for (let last = [root]; last.length > 0; ) {
    const children = all.filter(({ parent }) => last.includes(parent));
    found.push(...children);
    last = children.map(({ pid }) => pid);
  }
  return found;
}

const isRunning = (pid: number) =>
  !/^$|Z/.test(
    execFileSync('sh', ['-c', `ps -o stat= -p ${pid} || true`])
      .toString()
      .trim(),
  );

/** A service that is killed takes its processes along. */
export function testKilledServices(tiers: Record<string, ToolRunnerOptions>): void {
  describe.each(Object.entries(tiers))('a service that is killed in the tier %s', (_, options) => {
    it('leaves no process behind, and its directory goes with the next start', async () => {
      const scratch_dir = makeDirectory();
      const child = spawn(process.execPath, ['--input-type=module', '-e', service({ ...options, scratch_dir })], {
        stdio: 'inherit',
      });
      const sleeping = () => family(child.pid!).filter(({ args }) => args === 'sleep 777').length;
      expect(await eventually(() => sleeping() === 3)).toBe(true);
      const processes = family(child.pid!);
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(await eventually(() => !processes.some(({ pid }) => isRunning(pid)))).toBe(true);
      expect(readdirSync(scratch_dir)).toHaveLength(1);
      const next = await startToolRunner({ ...options, scratch_dir });
      expect(readdirSync(scratch_dir)).toHaveLength(1);
      await next.close();
      expect(readdirSync(scratch_dir)).toEqual([]);
    });
  });
}

/** The sandbox outlives the death of each of its processes, and leaves nothing. */
export function testSandboxes(tiers: Record<string, ToolRunnerOptions>): void {
  describe.each(Object.entries(tiers))('the sandbox in the tier %s', (_, options) => {
    it('is replaced when it dies; calls in flight fail, later ones do not', async () => {
      const scratch_dir = makeDirectory();
      const bench = await open({ ...options, scratch_dir });
      const mark = `7${Math.random()}`.replace('.', '');
      // Without a fork: where nothing but the user counts processes, another test's may be the ones too many.
      const pending = bench.call(`import os\ndef tool(): os.execvp("sleep", ["sleep", "${mark}"])`);
      expect(await Promise.race([pending, eventually(() => processesWith(`sleep ${mark}`).length > 0)])).toBe(true);
      const pids = execFileSync('pgrep', ['-f', `main.py zygote ${scratch_dir}`])
        .toString()
        .trim()
        .split('\n')
        .map(Number);
      for (const pid of pids) kill(pid);
      expect((await pending).error).toBe('the tool process was lost');
      expect(await eventually(() => processesWith(`sleep ${mark}`).length === 0)).toBe(true);
      expect(await bench.value('def tool(): return 1')).toBe(1);
      expect(await Promise.all([1, 2, 3].map(() => bench.value('def tool(): return 2')))).toEqual([2, 2, 2]);
    });

    it.each(['supervisor', 'waiting tool process'])('keeps working when each %s is killed in turn', async (kind) => {
      const scratch_dir = makeDirectory();
      const bench = await open({ ...options, scratch_dir, prefork: 2 });
      for (let round = 0; round < 3; round += 1) {
        const sandbox = family(process.pid).filter(({ args }) => args.includes(`zygote ${scratch_dir}`));
        const waiting = sandbox.filter(({ pid }) => !sandbox.some(({ parent }) => parent === pid)).at(-1)!;
        const victim = kind === 'supervisor' ? waiting.parent : waiting.pid;
        kill(victim);
        expect(await eventually(() => !isRunning(victim))).toBe(true);
        expect(await Promise.all([1, 2, 3].map(() => bench.value('def tool(): return 1')))).toEqual([1, 1, 1]);
      }
    });

    it('preloads packages, restarts when the list changes, and tolerates one that fails', async () => {
      const lines: string[] = [];
      const bench = await open({ ...options, preload: ['colorsys', 'no_such_package'], log: (line) => lines.push(line) });
      const loaded = 'import sys\ndef tool(): return ["colorsys" in sys.modules, "wave" in sys.modules]';
      expect(await bench.value(loaded)).toEqual([true, false]);
      expect(lines.join('\n')).toContain('could not preload no_such_package: ModuleNotFoundError');
      const pending = bench.value('import time\ndef tool():\n time.sleep(0.5)\n return "finished"');
      await new Promise((resolve) => setTimeout(resolve, 100));
      await bench.runner.preload(['wave']);
      expect(await bench.value(loaded)).toEqual([false, true]);
      expect(await pending).toBe('finished');
    });

    it('lets only so many calls in at once, and an abort leave the queue', async () => {
      const bench = await open({ ...options, max_concurrent: 2 });
      // One clock counts for all processes of the machine.
      const source = 'import time\ndef tool():\n began = time.monotonic()\n time.sleep(0.3)\n return [began, time.monotonic()]';
      const slow = () => bench.value(source) as Promise<[began: number, ended: number]>;
      const calls = [slow(), slow(), slow(), slow()];
      const stop = new AbortController();
      const queued = bench.call('def tool(): pass', {}, stop.signal);
      stop.abort(new Error('changed my mind'));
      await expect(queued).rejects.toThrow('changed my mind');
      const times = await Promise.all(calls);
      const runningAt = (at: number) => times.filter(([began, ended]) => began <= at && at < ended).length;
      expect(Math.max(...times.map(([began]) => runningAt(began)))).toBeLessThanOrEqual(2);
    });

    it('takes no process from the sandbox of another service', async () => {
      const [greedy, modest] = [await open({ ...options, prefork: 1 }), await open({ ...options, prefork: 1 })];
      const several =
        'import subprocess, time\ndef tool(n, s):\n started = [subprocess.Popen(["sleep", "776"]) for _ in range(n)]\n time.sleep(s)\n return n';
      const stop = new AbortController();
      const pending = greedy.call(several, { arguments: { n: 60, s: 30 } }, stop.signal);
      expect(await eventually(() => processesWith('sleep 776').length === 60)).toBe(true);
      expect(await modest.value(several, { arguments: { n: 10, s: 0 } })).toBe(10);
      stop.abort(new Error('seen enough'));
      await expect(pending).rejects.toThrow('seen enough');
    });

    it('leaves no process or file after many calls', async () => {
      const scratch_dir = makeDirectory();
      const bench = await open({ ...options, scratch_dir, prefork: 2 });
      await bench.value('def tool(): return 1');
      const fds = readdirSync('/proc/self/fd').length;
      for (let round = 0; round < 12; round += 1) {
        await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            bench.value(
              'import os, subprocess\ndef tool(n):\n open(os.environ["TMPDIR"] + "/f", "w").close(); subprocess.Popen(["sleep", "778"]); return n',
              { arguments: { n } },
            ),
          ),
        );
      }
      expect(await eventually(() => processesWith('sleep 778').length === 0)).toBe(true);
      expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(fds + 2);
    });
  });
}

/** One that is gone already is what was wanted. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
