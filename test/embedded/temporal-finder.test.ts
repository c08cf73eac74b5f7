import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { findTemporal } from '../../src/embedded/temporal.ts';
import { ARCHIVE_SUMS, computeSha256, MODULE, MODULE_SUM, recordSum } from '../../src/embedded/temporal-pins.ts';
import { testBench } from '../support/harness/embedded-homes.ts';

const bench = testBench();
afterEach(() => bench.clear());
afterEach(() => vi.unstubAllEnvs());

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
async function releases(server_version?: string): Promise<{ url: string; sums: Record<string, string>; downloads: string[] }> {
  const directory = await bench.home();
  await fake(directory, server_version);
  execFileSync('tar', ['-czf', join(directory, 'archive'), '-C', directory, 'temporal']);
  const archive = await readFile(join(directory, 'archive'));
  const sum = createHash('sha256').update(archive).digest('hex');
  const sums = Object.fromEntries(Object.keys(ARCHIVE_SUMS).map((name) => [name, sum]));
  const downloads: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    downloads.push(url);
    response.writeHead(url.startsWith('/none') ? 404 : 200).end(archive);
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

it('finds the one on PATH', async () => {
  const [home, installed] = [await bench.home(), await fake(await bench.home())];
  vi.stubEnv('PATH', `${dirname(installed)}:${process.env.PATH}`);
  expect(await findTemporal({ home, cache: home, log: bench.log, ...nowhere })).toBe(installed);
});

it('keeps it in the home if the cache cannot be written to, and nowhere if neither can', async () => {
  const [home, site] = [await bench.home(), await releases()];
  const options = { installed: [], releases: site.url, sums: site.sums, go: nowhere.go, log: bench.log };
  const file = join(home, 'file');
  await writeFile(file, '');
  expect(await findTemporal({ ...options, home, cache: join(file, 'cache') })).toBe(join(home, 'bin/temporal'));
  await expect(findTemporal({ ...options, home: file, cache: join(file, 'cache') })).rejects.toThrow(
    `None of these directories can be written to: ${file}/cache, ${file}/bin`,
  );
});

it.each<[string, (site: Awaited<ReturnType<typeof releases>>) => { releases?: string; sums?: Record<string, string> }, string]>([
  ['is too old', () => ({}), 'its server is version 1.20, and 1.26 is needed'],
  [
    'has no pinned checksum',
    () => ({ sums: {} }),
    'Temporal could not be downloaded: there is no pinned checksum of temporal_cli_',
  ],
  ['is not at its site', ({ url }) => ({ releases: `${url}/none` }), '/none/v'],
])('logs why a download is not used that %s', async (_, change, reason) => {
  const [home, site] = [await bench.home(), await releases('1.20.0')];
  const lines: string[] = [];
  const options = { home, cache: home, installed: [], releases: site.url, sums: site.sums, go: nowhere.go, ...change(site) };
  await expect(findTemporal({ ...options, log: (line) => lines.push(line) })).rejects.toThrow('could not be obtained');
  expect(lines.join('\n')).toContain(reason);
  expect(await readdir(home)).toEqual(['temporal.lock.1']);
});

it('logs why an archive is not used that cannot be unpacked', async () => {
  const [home, site] = [await bench.home(), await releases()];
  const sum = createHash('sha256').update('').digest('hex');
  const sums = Object.fromEntries(Object.keys(site.sums).map((name) => [name, sum]));
  const empty = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  await once(empty, 'listening');
  bench.keep({ stop: async () => void empty.close() });
  const lines: string[] = [];
  const url = `http://127.0.0.1:${(empty.address() as AddressInfo).port}`;
  const options = {
    home,
    cache: home,
    installed: [],
    releases: url,
    sums,
    go: nowhere.go,
    log: (line: string) => lines.push(line),
  };
  await expect(findTemporal(options)).rejects.toThrow('could not be obtained');
  expect(lines.join('\n')).toMatch(/could not be downloaded: it cannot be unpacked: \S/);
});

/** A compiler that has the pinned source, and builds with these lines; `$7` is the file to make. */
async function compiler(...lines: string[]): Promise<string> {
  const go = join(await bench.home(), 'go');
  const source = `if [ "$1" = mod ]; then echo '{"Dir": "/tmp", "Sum": "${MODULE_SUM}"}'; exit; fi`;
  await writeFile(go, ['#!/bin/sh', source, ...lines, ''].join('\n'));
  await chmod(go, 0o755);
  return go;
}

it('builds it from the pinned source if it cannot be downloaded', async () => {
  const [home, made] = [await bench.home(), await fake(await bench.home())];
  const go = await compiler(`cp ${made} "$7"`);
  const place = await findTemporal({ home, cache: home, installed: [], releases: nowhere.releases, go, log: bench.log });
  expect(place).toBe(join(home, 'temporal'));
  expect(await readFile(place, 'utf8')).toBe(await readFile(made, 'utf8'));
});

it.each([
  ['the build fails', () => compiler('echo first >&2', 'echo why >&2', 'exit 3'), 'go ended with code 3\nfirst\nwhy'],
  [
    'the source cannot be had',
    async () => {
      const go = join(await bench.home(), 'go');
      await writeFile(go, '#!/bin/sh\necho no such module\nexit 1\n');
      await chmod(go, 0o755);
      return go;
    },
    'its source cannot be had: no such module',
  ],
])('logs why nothing is built if %s', async (_, make, reason) => {
  const home = await bench.home();
  const lines: string[] = [];
  const options = { home, cache: home, installed: [], releases: nowhere.releases, go: await make() };
  await expect(findTemporal({ ...options, log: (line) => lines.push(line) })).rejects.toThrow('could not be obtained');
  expect(lines.join('\n')).toContain(`Temporal could not be built: ${reason}`);
});
