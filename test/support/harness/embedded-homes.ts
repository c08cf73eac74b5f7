import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { coverageOfChildren } from '../../coverage/folder.ts';
import { folderOfRun } from './run-mark.ts';

const STARTER = fileURLToPath(new URL('embedded-starter.ts', import.meta.url));

/** Collects the directories and servers of one test file; `clear` stops and removes them, the last one first. */
export function testBench() {
  const endings: (() => Promise<unknown>)[] = [];
  return {
    log: () => {},
    async home(): Promise<string> {
      const home = await folderOfRun('perdura-test-');
      endings.push(() => rm(home, { recursive: true, force: true }));
      return home;
    },
    keep<T extends { stop(): Promise<void> }>(server: T): T {
      endings.push(() => server.stop());
      return server;
    },
    async clear(): Promise<void> {
      for (const end of endings.splice(0).reverse()) await end();
    },
  };
}

export interface Started {
  pid: number;
  url: string;
}

/** Starts a server from a separate process and kills that process with kill -9, so that the server is left behind. */
export async function startAndDie(kind: 'postgres' | 'temporal', home: string, executable = ''): Promise<Started> {
  const starter = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', STARTER, kind, home, executable], {
    env: { ...process.env, ...coverageOfChildren() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const died = once(starter, 'exit');
  const [line] = await Promise.race([
    once(createInterface({ input: starter.stdout }), 'line'),
    died.then(([code]) => Promise.reject(new Error(`The starter ended early with code ${code}`))),
  ]);
  starter.kill('SIGKILL');
  await died;
  return JSON.parse(line as string);
}
