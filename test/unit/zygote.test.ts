import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Job } from '../../src/toolrunner/job.ts';
import { ZygoteGone } from '../../src/toolrunner/zygote.ts';
import { keepZygote } from '../../src/toolrunner/zygote-keeper.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-zygote-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const JOB: Job = {
  ...{ name: 'tool', source: '', arguments: {}, env: {} },
  header: { timeout_ms: 60_000, workspace: null, network: false, proxy_port: 0 },
};
const signal = new AbortController().signal;

/** Keeps a sandbox that does with each connection what `serve` says; it is ready once the file `open` exists, if it waits for that. */
async function kept(serve: string, { waits_after = Number.POSITIVE_INFINITY } = {}) {
  const program = join(home, 'sandbox.cjs');
  await writeFile(
    program,
    `const { existsSync, readFileSync, writeFileSync } = require('node:fs');
    let connections = 0;
    process.stdin.once('data', (line) => {
      const { socket } = JSON.parse(line);
      require('node:net').createServer((peer) => { connections += 1; peer.on('error', () => {}); ${serve} }).listen(socket, () => {
        const waits = Number(socket.match(/\\d+$/)[0]) > ${waits_after};
        if (waits) writeFileSync(${JSON.stringify(join(home, 'waits'))}, '');
        const timer = setInterval(() => {
          if (waits && !existsSync(${JSON.stringify(join(home, 'open'))})) return;
          clearInterval(timer);
          console.log('{"ready":true}');
        }, 10);
      });
    });
    process.stdin.on('end', () => process.exit());`,
  );
  let begun = 0;
  const keeper = await keepZygote({
    ...{ command: [process.execPath, program], log: () => {}, watched_directories: [], preload: [] },
    settings: () => {
      begun += 1;
      return { socket: join(home, `socket-${begun}`) } as never;
    },
  });
  return { keeper, countBegun: () => begun };
}

it('a call that no sandbox takes is tried in three, and has had no effect', async () => {
  const { keeper, countBegun } = await kept('peer.destroy();');
  await expect(keeper.call(JOB, signal)).rejects.toThrow(ZygoteGone);
  // The last attempt replaces nothing.
  expect(countBegun()).toBe(3);
  await keeper.stop();
  expect((await readdir(home)).filter((name) => name.startsWith('socket'))).toEqual(['socket-3']);
});

it('a sandbox that several calls find gone is replaced once', async () => {
  // The first sandbox refuses its second connection once the second sandbox has taken a call.
  const { keeper, countBegun } = await kept(`
    if (socket.endsWith('-2')) return peer.once('data', () => peer.end('+'));
    if (connections === 1) return peer.destroy();
    const timer = setInterval(() => existsSync(${JSON.stringify(join(home, 'taken'))}) && peer.destroy(), 10);
    peer.once('close', () => clearInterval(timer));`);
  const calls = [keeper.call(JOB, signal), keeper.call(JOB, signal)];
  await Promise.race(calls);
  await writeFile(join(home, 'taken'), '');
  expect(await Promise.all(calls)).toEqual([null, null]);
  expect(countBegun()).toBe(2);
  await keeper.stop();
});

it('a sandbox that is started while its keeper stops is stopped, too', async () => {
  const { keeper } = await kept('peer.destroy();', { waits_after: 1 });
  const first = keeper.pid;
  const call = keeper.call(JOB, signal).catch((error: Error) => error);
  await expect.poll(() => existsSync(join(home, 'waits'))).toBe(true);
  const stopped = keeper.stop();
  await writeFile(join(home, 'open'), '');
  await stopped;
  expect(await call).toBeInstanceOf(ZygoteGone);
  expect([first, keeper.pid].filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
});

it('a call after the end leaves no sandbox behind', async () => {
  const { keeper, countBegun } = await kept('peer.destroy();');
  await keeper.stop();
  await expect(keeper.call(JOB, signal)).rejects.toThrow(ZygoteGone);
  expect([countBegun(), existsSync(`/proc/${keeper.pid}`)]).toEqual([2, false]);
});
