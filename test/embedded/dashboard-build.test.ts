import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

it('the dashboard is built with the code of React for production, whatever NODE_ENV says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdura-build-'));
  try {
    const args = ['build', '--config', 'src/dashboard/vite.config.ts', '--outDir', folder, '--logLevel', 'error'];
    const env = { ...process.env, NODE_ENV: 'test' };
    await promisify(execFile)(process.execPath, ['node_modules/vite/bin/vite.js', ...args], { cwd: ROOT, env });
    const names = (await readdir(join(folder, 'assets'))).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(names.map((name) => readFile(join(folder, 'assets', name), 'utf8')));
    expect(texts.length).toBeGreaterThan(10);
    // Only React for development says this.
    expect(texts.filter((text) => text.includes('Download the React DevTools'))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);
