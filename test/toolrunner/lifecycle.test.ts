import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUp, makeDirectory, open, testKilledServices, testSandboxes } from './lifecycle-cases.ts';
import { CONFINED, QUICK_TIER, TIERS } from './support.ts';

afterEach(cleanUp);

testKilledServices(QUICK_TIER);
testSandboxes(QUICK_TIER);

describe('workspaces', () => {
  it.each(Object.entries(TIERS))('are the only place of the service a call of the tier %s can write', async (_, options) => {
    const workspaces = makeDirectory();
    chmodSync(workspaces, 0o755);
    const workspace = join(workspaces, 'run-1');
    mkdirSync(join(workspace, 'sub'), { recursive: true });
    writeFileSync(join(workspace, 'sub', 'given.txt'), 'given');
    if (options.run_as) execFileSync('chown', ['-R', `${options.run_as.uid}:${options.run_as.gid}`, workspaces]);
    const bench = await open({ ...options, workspaces });
    const source = `
import os
def tool():
    base = os.environ["PERDURA_WORKSPACE"]
    with open(base + "/sub/given.txt", "a") as f: f.write(" more")
    with open("here.txt", "a") as f: f.write("x")
    return [os.getcwd() == base, open(base + "/sub/given.txt").read(), sorted(os.listdir(base))]`;
    expect(await bench.value(source, { workspace })).toEqual([true, 'given more', ['here.txt', 'sub']]);
    expect(await bench.value(source, { workspace })).toEqual([true, 'given more more', ['here.txt', 'sub']]);
    if (options.isolation !== 'none') {
      expect((await bench.call('def tool(): pass', { workspace: '/etc' })).error).toContain(
        'not below the directory for workspaces',
      );
      expect((await bench.call('def tool(): pass', { workspace: workspaces })).error).toContain(
        'not below the directory for workspaces',
      );
      expect((await bench.call('def tool(): pass', { workspace: join(workspaces, 'missing') })).error).not.toBeNull();
    }
  });
});

describe('where tools cannot be confined', () => {
  it('a runner starts, checks files, refuses to run any, and gives the reason', async () => {
    const lines: string[] = [];
    const bench = await open({ tier: 'landlock', landlock_level: 1, log: (line) => lines.push(line) });
    expect(bench.runner.isolation).toBe('refused');
    expect(bench.runner.isolation_reason).toContain('Landlock version 3 is needed');
    expect(lines.join()).toContain('tools will NOT run');
    expect((await bench.call('def tool(): return 1')).error).toContain('tools cannot be confined on this machine');
    await expect(bench.runner.startConfined({ command: 'true' })).rejects.toThrow('cannot be confined');
    expect((await bench.runner.inspect('tool', 'def tool(): pass')).valid).toBe(true);
  });

  it('a runner configured without isolation warns loudly', async () => {
    const lines: string[] = [];
    const bench = await open({ isolation: 'none', log: (line) => lines.push(line) });
    expect([bench.runner.isolation, lines.join()]).toEqual(['process', expect.stringContaining('WITHOUT confinement')]);
  });

  it.skipIf(!CONFINED.landlock)('network access is refused on kernels whose Landlock has no rules for it', async () => {
    const bench = await open({ ...CONFINED.landlock, landlock_level: 3 });
    expect((await bench.call('def tool(): return 1', { network: true })).error).toContain('Landlock version 4 is needed');
    expect(await bench.value('def tool(): return 1')).toBe(1);
  });

  it.skipIf(!CONFINED['landlock of an ordinary user'])(
    'signals go nowhere on kernels whose Landlock has no rules for them',
    async () => {
      const bench = await open({ ...CONFINED['landlock of an ordinary user'], landlock_level: 4 });
      const source = 'import os\ndef tool(pid):\n try: os.kill(pid, 0)\n except PermissionError: return "refused"';
      expect(
        await bench.value(
          'import os, signal\ndef tool(pid):\n try: os.kill(os.getppid(), 0)\n except PermissionError: return "refused"',
          { arguments: { pid: 1 } },
        ),
      ).toBe('refused');
      expect(await bench.value(source, { arguments: { pid: process.pid } })).toBe('refused');
    },
  );
});

describe('packages', () => {
  it.skipIf(!CONFINED.namespaces)('that change while the runner runs are noticed', async () => {
    const lines: string[] = [];
    const bench = await open({ ...CONFINED.namespaces, log: (line) => lines.push(line) });
    const [site = ''] = bench.interpreter.site_packages;
    const now = new Date();
    await bench.value('def tool(): return 1');
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    utimesSync(site, now, now);
    expect(await bench.value('def tool(): return 1')).toBe(1);
    expect(lines.join()).toContain('packages changed');
  });
});
