import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { clearCheckouts, makeCheckout, startPerdura, startProgram } from '../support/machine/checkout.ts';

/** Waits for something on the standard error of a process. */
function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<void> {
  let said = '';
  return new Promise((done) => {
    child.stderr!.on('data', (chunk) => {
      said += chunk;
      if (pattern.test(said)) done();
    });
  });
}

describe('bin/perdura.mjs', { timeout: 30_000 }, () => {
  afterEach(clearCheckouts);

  it('installs again when the lockfile changes', async () => {
    const root = await makeCheckout();
    await startPerdura(root, 'dev').ended;
    await mkdir(join(root, 'node_modules/stray'), { recursive: true });
    await writeFile(
      join(root, 'node_modules/.package-lock.json'),
      JSON.stringify({ packages: { 'node_modules/stray': { version: '1.0.0' } } }),
    );
    await writeFile(join(root, 'package-lock.json'), `${await readFile(join(root, 'package-lock.json'), 'utf8')}\n`);
    expect((await startPerdura(root, 'dev').ended).err).toContain('Installing packages … done');
    expect(await readdir(join(root, 'node_modules'))).not.toContain('stray');
  });

  it('lets one of two first starts install while the other waits', async () => {
    const root = await makeCheckout();
    const both = await Promise.all([startPerdura(root, 'a').ended, startPerdura(root, 'b').ended]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.filter(({ err }) => err.includes('Installing packages … done'))).toHaveLength(1);
  });

  it('builds the dashboard if there is one, and again when its source changes', async () => {
    const root = await makeCheckout();
    await startPerdura(root, 'dev').ended;
    // Replaces Vite, which also empties its output folder.
    await mkdir(join(root, 'node_modules/vite/bin'), { recursive: true });
    await writeFile(
      join(root, 'node_modules/vite/bin/vite.js'),
      `const { mkdirSync, rmSync, writeFileSync } = require('node:fs');
       rmSync('dist/dashboard', { recursive: true, force: true });
       mkdirSync('dist/dashboard', { recursive: true });
       writeFileSync('dist/dashboard/index.html', process.argv.slice(2).join(' '));`,
    );
    await Promise.all(
      ['src/dashboard/pages', 'src/contracts', 'docs'].map((name) => mkdir(join(root, name), { recursive: true })),
    );
    const source = join(root, 'src/dashboard/pages/home.tsx');
    await Promise.all([writeFile(join(root, 'src/dashboard/vite.config.ts'), ''), writeFile(source, 'one')]);

    expect((await startPerdura(root, 'dev').ended).err).toContain('Building the dashboard … done');
    const built = await readFile(join(root, 'dist/dashboard/index.html'), 'utf8');
    expect(built).toBe(`build --config ${join(root, 'src/dashboard/vite.config.ts')}`);
    expect((await startPerdura(root, 'dev').ended).err).toBe('');
    for (const file of [source, join(root, 'src/contracts/new.ts'), join(root, 'docs/new.md')]) {
      await writeFile(file, 'two');
      expect((await startPerdura(root, 'dev').ended).err).toContain('Building the dashboard … done');
    }
    await rm(join(root, 'dist'), { recursive: true });
    expect((await startPerdura(root, 'dev').ended).err).toContain('Building the dashboard … done');
  });

  // `npm run --silent` hands its level to every npm that it starts.
  it.each(['notice', 'silent'])(
    'shows the end of the log when the installation fails, with npm at the level %s',
    async (level) => {
      const root = await makeCheckout();
      await writeFile(join(root, 'package.json'), '{"name":"checkout","version":"1.0.0","dependencies":{"absent":"^1.0.0"}}');
      const started = startProgram(process.execPath, [join(root, 'bin/perdura.mjs'), 'dev'], { npm_config_loglevel: level });
      const { code, err } = await started.ended;
      expect(code).toBe(1);
      expect(err).toMatch(/absent.*Installing packages failed: .* The whole log: .*install\.log/s);
      expect(await readFile(join(root, '.perdura/install.lock.1'), 'utf8')).toBe('');
    },
  );

  it('takes over the lock of a killed installation', async () => {
    const root = await makeCheckout();
    await mkdir(join(root, '.perdura'));
    await writeFile(join(root, '.perdura/install.lock.1'), '999999999');
    expect((await startPerdura(root, 'dev').ended).code).toBe(0);
  });

  it('lets only one process take over such a lock, even if another is slow to react', async () => {
    const root = await makeCheckout();
    const [go, record] = [join(root, 'go'), join(root, 'record')];
    const preinstall = `echo begun >> ${record} && sleep 2 && echo ended >> ${record}`;
    await writeFile(join(root, 'package.json'), JSON.stringify({ name: 'checkout', version: '1.0.0', scripts: { preinstall } }));
    await mkdir(join(root, '.perdura'));
    await writeFile(join(root, '.perdura/install.lock.1'), '999999999');
    // It is paused before it removes anything.
    const held_up = `import fs, { existsSync } from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
      const { rmSync } = fs; 
      fs.rmSync = (...given) => {
        if (/lock(.1)?$/.test(given[0])) {
          console.error('about to remove');
          while (!existsSync(${JSON.stringify(go)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        }
        return rmSync(...given);
      }; syncBuiltinESMExports();`;
    const hold = `data:text/javascript,${encodeURIComponent(held_up)}`;
    const slow = startProgram(process.execPath, ['--import', hold, join(root, 'bin/perdura.mjs'), 'slow']);
    await waitForOutput(slow.child, /about to remove/);
    const other = startPerdura(root, 'other');
    await waitForOutput(other.child, new RegExp(`Process ${slow.child.pid} is preparing|Installing`));
    await writeFile(go, '');
    expect([(await slow.ended).code, (await other.ended).code]).toEqual([0, 0]);
    expect(await readFile(record, 'utf8')).toBe('begun\nended\n');
  });

  it('has its own programs for tests', async () => {
    expect((await startPerdura(await makeCheckout(), 'test', 'unit').ended).out).toBe('tests ["unit"]\n');
  });
});
