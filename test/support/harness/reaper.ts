import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * Runs during a test run, in a separate session. Its input ends when the process of the run does, however that ends. Then it
 * kills every process that has the mark of the run in its environment or its command, prints them, and removes the folders with
 * that mark.
 */
const [mark = '', run = ''] = process.argv.slice(2);
const LOOK_MS = 50;
const LOOKS = 100;

interface Found {
  pid: number;
  parent: number;
  command: string;
}

/** Lists processes with their environment. Processes that have just ended cannot be read. */
function processes(): (Found & { environment: string })[] {
  if (process.platform !== 'linux') return processesByPs();
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.flatMap((pid) => {
    try {
      const [stat, command, environment] = ['stat', 'cmdline', 'environ'].map((name) =>
        readFileSync(`/proc/${pid}/${name}`, 'utf8'),
      ) as [string, string, string];
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state === 'Z'
        ? []
        : { pid: Number(pid), parent: Number(parent), command: command.replaceAll('\0', ' '), environment };
    } catch {
      return [];
    }
  });
}

/** Lists processes by `ps`, which prints the environment after the command. */
function processesByPs(): (Found & { environment: string })[] {
  const lines = execFileSync('ps', ['axeww', '-o', 'pid=,ppid=,command='], { encoding: 'utf8', maxBuffer: 1 << 28 }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, command] = /^ *(\d+) +(\d+) (.*)/.exec(line) ?? [];
    return command ? { pid: Number(pid), parent: Number(parent), command, environment: command } : [];
  });
}

/** Lists the remaining processes. While the run is alive, its direct children are its own: Vitest ends them. */
const left = (): Found[] =>
  processes().filter(
    ({ pid, parent, command, environment }) =>
      pid !== process.pid && parent !== Number(run) && (command.includes(mark) || environment.includes(mark)),
  );

function kill({ pid }: Found): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
await text(process.stdin);
const named = new Set<number>();
for (let looks = 0, found = left(); looks < LOOKS && found.length > 0; looks += 1, found = left()) {
  for (const one of found) {
    if (!named.has(one.pid)) console.log(`Left running by the tests, and killed: ${one.pid} ${one.command.slice(0, 120)}`);
    named.add(one.pid);
    kill(one);
  }
  await wait(LOOK_MS);
}
for (const name of readdirSync(tmpdir()))
  if (name.includes(`${mark}-`)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
