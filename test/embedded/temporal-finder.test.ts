import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { findTemporal } from '../../src/embedded/temporal.ts';
import { testBench } from '../support/embedded-homes.ts';

const bench = testBench();
afterEach(() => bench.clear());

/** An executable that only tells a version. */
async function fake(directory: string, server = '1.29.1'): Promise<string> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'temporal');
  await writeFile(file, `#!/bin/sh\necho 'temporal version 1.5.1 (Server ${server}, UI 2.42.1)'\n`);
  await chmod(file, 0o755);
  return file;
}

/** A site that publishes one archive for every platform, and its checksum. */
async function releases(checksum?: string): Promise<{ url: string; downloads: string[] }> {
  const directory = await bench.home();
  await fake(directory);
  execFileSync('tar', ['-czf', join(directory, 'archive'), '-C', directory, 'temporal']);
  const archive = await readFile(join(directory, 'archive'));
  const sum = checksum ?? createHash('sha256').update(archive).digest('hex');
  const names = ['linux', 'darwin'].flatMap((os) => ['amd64', 'arm64'].map((arch) => `temporal_cli_1.5.1_${os}_${arch}.tar.gz`));
  const downloads: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    downloads.push(url);
    response.end(url.endsWith('checksums.txt') ? names.map((name) => `${sum}  ${name}\n`).join('') : archive);
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  bench.keep({ stop: async () => void server.close() });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, downloads };
}

const nowhere = { releases: 'http://127.0.0.1:9', go: '/nonexistent/go' };

it('uses the chosen executable and nothing else', async () => {
  const [home, chosen] = [await bench.home(), await fake(await bench.home())];
  expect(await findTemporal({ home, path: chosen, log: bench.log })).toBe(chosen);
  await expect(findTemporal({ home, path: '/nonexistent/temporal', log: bench.log })).rejects.toThrow('TEMPORAL_CLI_PATH names');
});

it('prefers an installed executable, then the home, then the cache of the user', async () => {
  const [home, cache] = [await bench.home(), await bench.home()];
  const options = { home, cache, log: bench.log, ...nowhere };
  const cached = await fake(cache);
  expect(await findTemporal({ ...options, installed: [] })).toBe(cached);
  const own = await fake(join(home, 'bin'));
  expect(await findTemporal({ ...options, installed: [] })).toBe(own);
  const installed = await fake(await bench.home());
  expect(await findTemporal({ ...options, installed: [installed] })).toBe(installed);
});

it('passes over an executable whose server is too old, and says so', async () => {
  const [home, cache, old] = [await bench.home(), await bench.home(), await fake(await bench.home(), '1.20.0')];
  const lines: string[] = [];
  const cached = await fake(cache);
  expect(await findTemporal({ home, cache, installed: [old], log: (line) => lines.push(line) })).toBe(cached);
  expect(lines).toEqual([`Not using ${old}: its server is version 1.20, and 1.26 is needed`]);
});

it('downloads it once, even for two starts at the same time', async () => {
  const [home, cache, site] = [await bench.home(), await bench.home(), await releases()];
  const options = { home, cache, installed: [], releases: site.url, go: nowhere.go, log: bench.log };
  const found = await Promise.all([findTemporal(options), findTemporal(options)]);
  expect(found).toEqual([join(cache, 'temporal'), join(cache, 'temporal')]);
  expect(site.downloads).toHaveLength(2);
  // The lock of the second one, which outnumbers the first.
  expect(await readdir(cache)).toEqual(['temporal', 'temporal.lock.2']);
});

it('refuses a download with another checksum and then tells three ways out', async () => {
  const [home, cache, site] = [await bench.home(), await bench.home(), await releases('0'.repeat(64))];
  const lines: string[] = [];
  const options = { home, cache, installed: [], releases: site.url, go: nowhere.go, log: (line: string) => lines.push(line) };
  await expect(findTemporal(options)).rejects.toThrow(/1\. install it.*2\. install Go.*3\. set TEMPORAL_ADDRESS/s);
  expect(lines.join('\n')).toMatch(/its checksum is .* should be 0000.*Go is not installed/s);
  expect(await readdir(cache)).toEqual(['temporal.lock.1']);
});
