import { setTimeout as wait } from 'node:timers/promises';
import { freePort, perdura } from '../support/machine/processes.ts';
import { signalled } from './processes.ts';

/** A process that is restarted whenever it dies, as by a supervisor. */
export interface Member {
  name: string;
  /** 0 while it restarts. */
  pid(): number;
  /** False if there was no process to signal. */
  signal(signal: NodeJS.Signals): boolean;
  /** Stops it permanently and returns its exit code. */
  stop(): Promise<number | null>;
}

interface MemberOptions {
  name: string;
  command: string;
  env: Record<string, string>;
  ready: RegExp;
  log(line: string): void;
}

const PAUSE_MS = 100;
const READY_MS = 120_000;

export async function startMember({ name, command, env, ready, log }: MemberOptions): Promise<Member> {
  let child = perdura(command, env);
  let up = false;
  let stopping = false;
  await child.prints(ready, READY_MS);
  up = true;
  const watching = watch();

  async function watch(): Promise<void> {
    while (!stopping) {
      await child.ended;
      up = false;
      if (stopping) return;
      await wait(PAUSE_MS);
      child = perdura(command, env);
      // It may fail to start while the database or the engine is down; then the next one tries.
      await child.prints(ready, READY_MS).then(
        () => {
          up = true;
        },
        (error: Error) => log(`${name}: ${error.message.split('\n').slice(0, 3).join(' | ')}`),
      );
    }
  }
  return {
    name,
    pid: () => (up ? child.pid : 0),
    signal(signal) {
      if (!up) return false;
      up = signal !== 'SIGKILL';
      return signalled(child.pid, signal);
    },
    async stop() {
      while (!up) await wait(100);
      stopping = true;
      child.signal('SIGCONT');
      const code = await child.end('SIGTERM');
      await watching;
      return code;
    },
  };
}

export interface Fleet {
  workers: Member[];
  apis: (Member & { url: string })[];
}

export async function startFleet(
  env: Record<string, string>,
  { workers, apis, log }: { workers: number; apis: number; log(line: string): void },
): Promise<Fleet> {
  const started: Fleet = { workers: [], apis: [] };
  for (let index = 0; index < apis; index += 1) {
    const port = await freePort();
    const own = { ...env, PERDURA_PORT: String(port), PERDURA_HOST: '127.0.0.1' };
    const member = await startMember({ name: `api ${index}`, command: 'api', env: own, ready: /API at/, log });
    started.apis.push({ ...member, url: `http://127.0.0.1:${port}` });
  }
  for (let index = 0; index < workers; index += 1)
    started.workers.push(await startMember({ name: `worker ${index}`, command: 'worker', env, ready: /takes work/, log }));
  return started;
}
