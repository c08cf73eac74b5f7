import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { coverageOfChildren } from '../../coverage/folder.ts';
import { folderOfRun } from '../harness/run-mark.ts';
import { type Child, childOf } from './processes.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** The file that `npm start` writes when it is ready. */
export interface Ready {
  api_url: string;
  dashboard_url: string;
  docs_url: string;
  temporal_ui_url: string;
  demo_model_url: string;
  token_file: string;
  pids: Record<string, number>;
}

/** Starts Perdura as a user does. `clear` stops and removes everything. */
export function npmStarts() {
  const running: Child[] = [];
  const folders: string[] = [];
  const command = (home: string, name: string) =>
    childOf(
      spawn(process.execPath, [join(ROOT, 'bin/perdura.mjs'), name], {
        cwd: ROOT,
        env: {
          ...{ ...process.env, ...coverageOfChildren(), OPENAI_API_KEY: '' },
          ...{ PERDURA_HOME: home, PERDURA_READY_FILE: join(home, 'ready.json') },
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  const readyIn = async (home: string): Promise<Ready> => JSON.parse(await readFile(join(home, 'ready.json'), 'utf8'));
  return {
    command,
    readyIn,
    /** Makes `clear` end this process as well. */
    keep: (child: Child) => void running.push(child),
    async newHome(): Promise<string> {
      const home = await folderOfRun('perdura-e2e-');
      folders.push(home);
      return home;
    },
    /** Runs `npm start` until it reports that it is ready. */
    async start(home: string): Promise<{ child: Child; ready: Ready }> {
      const child = command(home, 'dev');
      running.push(child);
      await child.prints(/Perdura is ready/, 180_000);
      return { child, ready: await readyIn(home) };
    },
    /** Ends what `start` started; without a named signal, like Ctrl-C. */
    async end(child: Child, signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
      running.splice(running.indexOf(child), 1);
      return child.end(signal);
    },
    async clear(): Promise<void> {
      for (const child of running.splice(0)) await child.end('SIGINT');
      for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
    },
  };
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

export const workflowTitles = async ({ api_url, token_file }: Ready) => {
  const token = (await readFile(token_file, 'utf8')).trim();
  const answer = await fetch(`${api_url}/api/workflows`, { headers: { authorization: `Bearer ${token}` } });
  return ((await answer.json()) as { title: string }[]).map(({ title }) => title);
};
