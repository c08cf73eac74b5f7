import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { SYSTEM_PYTHON } from '../system-python.ts';
import type { Scene, Stage } from './scenes.ts';

const python = (code: string, ...args: string[]) =>
  spawn(SYSTEM_PYTHON, ['-Ic', code, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
const setLimit = (name: string, value: string) => spawnSync('prlimit', ['--pid', String(process.pid), `--${name}=${value}`]);

/** Leaks of each kind, which a comparison has to find. */
export async function open(folder: string): Promise<Stage> {
  const at = (name: string) => join(folder, 'home', name);
  writeFileSync(at('known'), '');
  const sleeper = spawn('sleep', ['599']);
  await once(sleeper, 'spawn');
  const mounted = at('mounted');
  mkdirSync(mounted);
  /** The folder of another stage. */
  const neighbour = `${tmpdir()}-neighbour`;
  mkdirSync(neighbour);
  const inMemory = (stage: string) => `/dev/shm/${basename(stage)}.left`;
  const mount = (place: string) => `${spawnSync('mount', ['-t', 'tmpfs', 'left', place]).status}`;
  const unmount = (place: string) => `${spawnSync('umount', [place]).status}`;

  const scenes: Record<string, Scene> = {
    'nothing at all': async () => '',
    "a neighbour's file": async () => writeFileSync(join(neighbour, 'file'), '') ?? '',
    "a neighbour's file in shared memory": async () => writeFileSync(inMemory(neighbour), '') ?? '',
    "a neighbour's mount": async () => mount(neighbour),
    "a neighbour's lost mount": async () => unmount(neighbour),
    'a child': async () => {
      await once(spawn('sleep', ['601'], { stdio: 'ignore' }), 'spawn');
      return '';
    },
    'an orphan in its own session': async () => {
      spawnSync('sh', ['-c', 'setsid sleep 602 >/dev/null 2>&1 &']);
      return '';
    },
    'a defunct process': async () => {
      const code = 'import os,time\nif os.fork() == 0: os._exit(0)\nprint("ready", flush=True)\ntime.sleep(603)';
      await once(python(code).stdout, 'data');
      return '';
    },
    'a niceness of a known process': async () => {
      setPriority(sleeper.pid!, 7);
      return '';
    },
    'an oom_score_adj of a known process': async () => {
      writeFileSync(`/proc/${sleeper.pid}/oom_score_adj`, '321');
      return '';
    },
    'a file': async () => writeFileSync(at('file'), '') ?? '',
    'a second name of a file': async () => linkSync(at('known'), at('again')) ?? '',
    'a mode of a file': async () => chmodSync(at('known'), 0o666) ?? '',
    'a file in shared memory': async () => writeFileSync(inMemory(tmpdir()), '') ?? '',
    'a lock': async () => {
      const code =
        'import fcntl,sys,time\nf=open(sys.argv[1],"a")\nfcntl.flock(f,2)\nprint("ready", flush=True)\ntime.sleep(604)';
      await once(python(code, at('known')).stdout, 'data');
      return '';
    },
    'a descriptor of a file': async () => `${openSync(at('known'), 'r') > 0}`,
    'a descriptor of a pipe': async () => {
      await once(spawn('sleep', ['605'], { stdio: ['pipe', 'ignore', 'ignore'] }), 'spawn');
      return '';
    },
    'a mount': async () => mount(mounted),
    'a lost mount': async () => unmount(mounted),
    'a umask': async () => `${process.umask(0o007)}`,
    'a folder': async () => process.chdir('/') ?? '',
    'a limit': async () => `${setLimit('nofile', '777:888').status}`,
    'a niceness': async () => setPriority(3) ?? '',
    'an oom_score_adj': async () => {
      writeFileSync('/proc/self/oom_score_adj', '400');
      return readFileSync('/proc/self/oom_score_adj', 'utf8').trim();
    },
  };
  return {
    scenes,
    async close() {
      for (const place of [mounted, neighbour]) unmount(place);
      for (const path of [neighbour, inMemory(neighbour), inMemory(tmpdir())]) rmSync(path, { recursive: true, force: true });
    },
  };
}
