import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type ConfinedCommand, startToolRunner, type ToolRunnerOptions } from '../../../../src/toolrunner/index.ts';
import type { Scene, Stage } from './scenes.ts';

const DAEMON = 'setsid sleep 600 & echo began;';
const sh = (script: string): ConfinedCommand => ({ command: '/bin/sh', args: ['-c', script] });

/** Commands in one tier: what shells and stdio servers are started as. */
export async function open(folder: string, options: ToolRunnerOptions): Promise<Stage> {
  const workspaces = join(folder, 'workspaces');
  mkdirSync(workspaces, { mode: 0o711 });
  const runner = await startToolRunner({ prefork: 1, workspaces, scratch_dir: folder, ...options });
  const start = (command: ConfinedCommand, signal?: AbortSignal) => runner.startConfined(command, signal);
  /** Starts a command, waits for its first output, does something with it, and returns its exit code. */
  const during = async (command: ConfinedCommand, act: (process: Awaited<ReturnType<typeof start>>) => unknown) => {
    const process = await start(command);
    await new Promise((resolve) => process.stdout.once('data', resolve));
    await act(process);
    process.stdin.end();
    return `exit ${await process.exit}`;
  };
  const toEnd = async (command: ConfinedCommand) => {
    const { stdin, stdout, exit } = await start(command);
    stdin.end();
    return `${(await text(stdout)).trim()} exit ${await exit}`;
  };
  await toEnd(sh('echo first'));

  const scenes: Record<string, Scene> = {
    'a command that ends': () => toEnd(sh('echo done > "$TMPDIR/file"; echo done')),
    'a command that leaves a daemon': () => toEnd(sh('setsid sleep 600 >/dev/null 2>&1 & echo began')),
    'a command that is killed': () => during(sh(`${DAEMON} sleep 600`), (it) => it.kill()),
    'a command that ignores every signal it can': () =>
      during(sh(`trap "" TERM INT HUP PIPE; ${DAEMON} while :; do sleep 600; done`), (it) => it.kill()),
    'a command that stopped itself': () => during(sh(`${DAEMON} sleep 0.1; kill -STOP $$`), (it) => it.kill()),
    'a command that waits for its input': () => during(sh('echo began; cat'), () => {}),
    'a command that is not there': () => toEnd({ command: '/nowhere/at/all' }),
    'a command whose folder is not there': () => toEnd({ ...sh('true'), cwd: '/nowhere/at/all' }),
    'a command whose workspace lies elsewhere': () => toEnd({ ...sh('true'), workspace: folder }),
    'a command whose workspace is missing': () => toEnd({ ...sh('true'), workspace: join(workspaces, 'missing') }),
    'a command that may not have a path': () => toEnd({ ...sh('true'), paths: [{ path: '/nowhere' }] }),
    'a command that was aborted before': () =>
      start(sh('sleep 600'), AbortSignal.abort(new Error('halted'))).then(() => 'started'),
    'a command that is aborted while it starts': () => {
      const stop = new AbortController();
      const started = start(sh('sleep 600'), stop.signal).then(() => 'started');
      setImmediate(() => stop.abort(new Error('halted')));
      return started;
    },
    'a command that is aborted while it runs': async () => {
      const stop = new AbortController();
      const { exit } = await start(sh(`${DAEMON} sleep 600`), stop.signal);
      stop.abort(new Error('halted'));
      return `exit ${await exit}`;
    },
  };
  return {
    scenes,
    async close() {
      await start(sh(`${DAEMON} sleep 600`));
      await runner.close();
      rmdirSync(workspaces);
    },
  };
}
