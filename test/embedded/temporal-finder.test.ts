import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { findTemporal } from '../../src/embedded/temporal.ts';
import { ARCHIVE_SUMS, computeSha256, MODULE, MODULE_SUM, recordSum } from '../../src/embedded/temporal-pins.ts';
import { testBench } from '../support/harness/embedded-homes.ts';

const bench = testBench();
afterEach(() => bench.clear());

/** An executable that only prints a version. */
async function fake(directory: string, server = '1.29.1'): Promise<string> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'temporal');
  await writeFile(file, `#!/bin/sh\necho 'temporal version 1.5.1 (Server ${server}, UI 2.42.1)'\n`);
  await chmod(file, 0o755);
  return file;
}

/** Puts an executable where Perdura stores one that it obtained. */
async function obtained(directory: string): Promise<string> {
  const file = await fake(directory);
  await recordSum(file, await computeSha256(file));
  return file;
}

/** A site that publishes one archive for every platform, with the sums to pin. */
async function releases(): Promise<{ url: string; sums: Record<string, string>; downloads: string[] }> {
  const directory = await bench.home();
  await fake(directory);
  execFileSync('tar', ['-czf', join(directory, 'archive'), '-C', directory, 'temporal']);
  const archive = await readFile(join(directory, 'archive'));
  const sum = createHash('sha256').update(archive).digest('hex');
  const sums = Object.fromEntries(Object.keys(ARCHIVE_SUMS).map((name) => [name, sum]));
  const downloads: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    downloads.push(url);
    response.end(archive);
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  bench.keep({ stop: async () => void server.close() });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sums, downloads };
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
  const cached = await obtained(cache);
  expect(await findTemporal({ ...options, installed: [] })).toBe(cached);
  const own = await obtained(join(home, 'bin'));
  expect(await findTemporal({ ...options, installed: [] })).toBe(own);
  const installed = await fake(await bench.home());
  expect(await findTemporal({ ...options, installed: [installed] })).toBe(installed);
});

it('skips an executable whose server is too old, and logs why', async () => {
  const [home, cache, old] = [await bench.home(), await bench.home(), await fake(await bench.home(), '1.20.0')];
  const lines: string[] = [];
  const cached = await obtained(cache);
  expect(await findTemporal({ home, cache, installed: [old], log: (line) => lines.push(line) })).toBe(cached);
  expect(lines).toEqual([`Not using ${old}: its server is version 1.20, and 1.26 is needed`]);
});

it('downloads it once, even for two starts at the same time', async () => {
  const [home, cache, site] = [await bench.home(), await bench.home(), await releases()];
  const options = { home, cache, installed: [], releases: site.url, sums: site.sums, go: nowhere.go, log: bench.log };
  const found = await Promise.all([findTemporal(options), findTemporal(options)]);
  expect(found).toEqual([join(cache, 'temporal'), join(cache, 'temporal')]);
  expect(site.downloads).toHaveLength(1);
  // The lock of the second start, numbered one higher than that of the first.
  expect(await readdir(cache)).toEqual(['temporal', 'temporal.lock.2', 'temporal.sha256']);
});

it('refuses a download that is not the pinned one, whatever checksum its site publishes', async () => {
  const [home, cache, site] = [await bench.home(), await bench.home(), await releases()];
  const lines: string[] = [];
  const options = { home, cache, installed: [], releases: site.url, go: nowhere.go, log: (line: string) => lines.push(line) };
  await expect(findTemporal(options)).rejects.toThrow(/1\. install it.*2\. install Go.*3\. set TEMPORAL_ADDRESS/s);
  expect(lines.join('\n')).toMatch(/its checksum is [0-9a-f]{64} and should be [0-9a-f]{64}.*Go is not installed/s);
  expect(await readdir(cache)).toEqual(['temporal.lock.1']);
});

it('does not run what it obtained once that file has changed, and obtains it again', async () => {
  const [home, cache, site] = [await bench.home(), await bench.home(), await releases()];
  const lines: string[] = [];
  const options = { home, cache, installed: [], releases: site.url, sums: site.sums, go: nowhere.go };
  const log = (line: string) => lines.push(line);
  const file = await findTemporal({ ...options, log });
  const ran = join(home, 'ran');
  await appendFile(file, `touch ${ran}\n`);
  expect(await findTemporal({ ...options, log })).toBe(file);
  expect(lines.join('\n')).toMatch(/Not using .*temporal: it was changed after Perdura obtained it \(its SHA-256 is/);
  expect(await readFile(file, 'utf8')).not.toContain('touch');
  expect(await readdir(home)).not.toContain('ran');
  expect(site.downloads).toHaveLength(2);

  await appendFile(file, `touch ${ran}\n`);
  await expect(findTemporal({ ...options, releases: nowhere.releases, log })).rejects.toThrow('could not be obtained');
  expect(await readdir(home)).not.toContain('ran');
});

it('takes an unrecorded file only when it names the pinned source, and records it', async () => {
  const [home, cache] = [await bench.home(), await bench.home()];
  const lines: string[] = [];
  const options = { home, cache, installed: [], log: (line: string) => lines.push(line), ...nowhere };
  const file = await fake(cache);
  await expect(findTemporal(options)).rejects.toThrow('could not be obtained');
  expect(lines.join('\n')).toContain('its SHA-256 was not recorded');

  await appendFile(file, `exit\nmod\t${MODULE}\tv1.5.1\t${MODULE_SUM}\n`);
  expect(await findTemporal(options)).toBe(file);
  expect(await readFile(`${file}.sha256`, 'utf8')).toBe(`${await computeSha256(file)}  temporal\n`);
  await rm(file);
});

it('builds only the source whose sum is pinned', async () => {
  const [home, cache, bin] = [await bench.home(), await bench.home(), await bench.home()];
  const go = join(bin, 'go');
  await writeFile(go, `#!/bin/sh\necho '{\n"Dir": "/tmp",\n"Sum": "h1:another="\n}'\n`);
  await chmod(go, 0o755);
  const lines: string[] = [];
  const options = { home, cache, installed: [], releases: nowhere.releases, go, log: (line: string) => lines.push(line) };
  await expect(findTemporal(options)).rejects.toThrow('could not be obtained');
  expect(lines.join('\n')).toContain(`the sum of its source is h1:another= and should be ${MODULE_SUM}`);
});
