import { spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { logDestination } from '../../src/main/log-destination.ts';
import { until } from '../support/until.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'perdura-log-'));
  endings.push(() => rm(made, { recursive: true, force: true }));
  return made;
}

it('drops lines while the disk is full, and counts them when there is room again', async (test) => {
  const disk = await folder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'perdura-test', disk]).status !== 0)
    return test.skip('this process may not mount a file system');
  endings.push(() => spawnSync('umount', [disk]));
  const [ballast, file] = [join(disk, 'ballast'), join(disk, 'log')];
  const fd = openSync(file, 'a');
  endings.push(() => closeSync(fd));
  const log = logDestination(fd);
  await writeFile(ballast, Buffer.alloc(64 << 10)).catch(() => {});
  log.write('lost 1\n');
  log.write('lost 2\nlost 3\n');
  await rm(ballast);
  await until('a line after the disk was full', async () => {
    log.write('kept\n');
    return readFileSync(file, 'utf8').includes('kept');
  });
  expect(readFileSync(file, 'utf8')).toMatch(/^[1-9]\d* lines of the log were dropped: ENOSPC\n(?:kept\n)+$/);
});

it('begins a new line after one that the full disk has torn', async (test) => {
  const disk = await folder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'perdura-test', disk]).status !== 0)
    return test.skip('this process may not mount a file system');
  endings.push(() => spawnSync('umount', [disk]));
  const [ballast, file] = [join(disk, 'ballast'), join(disk, 'log')];
  await writeFile(ballast, Buffer.alloc(4 << 10));
  const fd = openSync(file, 'a');
  endings.push(() => closeSync(fd));
  const log = logDestination(fd);
  log.write(`${'x'.repeat(30_000)}\n`);
  await until('the disk is full', async () => readFileSync(file).length >= 8 << 10);
  await rm(ballast);
  await until('a line after the disk was full', async () => {
    log.write('kept\n');
    return readFileSync(file, 'utf8').includes('kept');
  });
  expect(readFileSync(file, 'utf8')).toMatch(/^x+\n[1-9]\d* lines? of the log were dropped: ENOSPC\n(?:kept\n)+$/);
});

it.each([
  ['waits', 0],
  ['does not wait', constants.O_NONBLOCK],
])('does not wait for a reader that does not read, at a pipe that %s, and keeps no more than it may', async (_, mode) => {
  const pipe = join(await folder(), 'pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  // Opened for both, so that neither end waits for the other.
  const fd = openSync(pipe, constants.O_RDWR | mode);
  endings.push(() => closeSync(fd));
  const log = logDestination(fd);
  const line = `${'x'.repeat(1_023)}\n`;
  for (let count = 0; count < 3_000; count += 1) log.write(line);
  const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
  endings.push(() => reader.kill());
  let read = '';
  reader.stdout.on('data', (chunk: Buffer) => {
    read += chunk;
  });
  await until('the count of dropped lines', async () => {
    log.write('last\n');
    return /\n\d{4} lines of the log were dropped: nothing was taken in time\n/.test(read) && read.endsWith('last\n');
  });
  expect(read.split(line).length - 1).toBeLessThanOrEqual(1_100);
});
