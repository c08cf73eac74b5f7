import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { asLack } from '../domain/outages.ts';
import { gate } from '../domain/queue.ts';
import { createFailedAnswer, toAnswer } from './answer.ts';
import { type ConfinedProcess, startConfined } from './confined.ts';
import { type Confinement, findConfinement } from './confinement.ts';
import type { ChildFrame } from './frame.ts';
import { createHostPathRules, parseHostPath } from './host-paths.ts';
import { startInspector } from './inspection.ts';
import { findInterpreter } from './interpreter.ts';
import { type Job, type Surroundings, toJob, WorkspaceOutside } from './job.ts';
import type { ToolRunnerOptions } from './options.ts';
import { runInProcess } from './process-tier.ts';
import type { PythonToolRunner } from './python-tool-runner.ts';
import type { ToolAnswer, ToolRun } from './runner.ts';
import { makeScratch } from './scratch.ts';
import { shareWorkspace } from './workspaces.ts';

export * from '../egress/dial.ts';
export * from '../egress/rules.ts';
export type { ConfinedCommand, ConfinedProcess } from './confined.ts';
export { parseHostPath } from './host-paths.ts';
export { NoInterpreter } from './interpreter.ts';
export { runnerWithoutPython } from './no-python.ts';
export type { ToolRunnerOptions } from './options.ts';
export { installToolPackages, type ToolPackages } from './packages.ts';
export { listPlugins } from './plugins.ts';
export type * from './runner.ts';
export { shareWorkspace as shareWithTools } from './workspaces.ts';

const MAIN = fileURLToPath(new URL('./python/main.py', import.meta.url));
const CODE = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 30_000;
const MAX_CONCURRENT = 16;
const CLOSED = 'the tool runner was closed';
const RELAY_PORT = 3128;

/**
 * Starts the tool runner. Throws `NoInterpreter` if there is no usable interpreter. If tools cannot be confined, it starts and
 * refuses every call.
 */
export async function startToolRunner(options: ToolRunnerOptions = {}): Promise<PythonToolRunner> {
  const interpreter = await findInterpreter(options.python ?? 'python3');
  const scratch = await makeScratch(options.scratch_dir ?? tmpdir(), options.run_as);
  const paths = await createHostPathRules({
    allow: options.host_paths?.allow ?? [],
    closed: [scratch.dir, ...(options.workspaces ? [options.workspaces] : []), ...(options.host_paths?.closed ?? [])],
    unwritable: [CODE, interpreter.prefix, interpreter.base_prefix],
  });
  const command = (name: string) => [interpreter.executable, '-I', '-X', 'utf8', MAIN, name, scratch.dir];
  const confinement = await findConfinement({ options, interpreter, scratch, command, log: options.log ?? (() => {}) });
  const inspector = startInspector(command('inspect'));
  const closing = new AbortController();
  const calls = createCallRunner(confinement, {
    options,
    closing: closing.signal,
    scratch: scratch.calls,
    one_shot: command('one-shot'),
  });
  const slots = new Set<number>();
  const commands = new Set<ConfinedProcess>();

  return {
    isolation: confinement.tier,
    isolation_reason: confinement.reason,
    interpreter,
    inspect: (name, source) => inspector.inspect(name, source),
    run: calls.run,
    preload: async (packages) => confinement.zygote?.replace(packages),
    pathRefusal: (path) =>
      paths.judge(parseHostPath(path)).then(
        () => null,
        (reason: Error) => reason.message,
      ),
    async startConfined(request, signal) {
      signal?.throwIfAborted();
      if (closing.signal.aborted) throw new Error(CLOSED);
      const allowed_paths = await Promise.all((request.paths ?? []).map((it) => paths.judge(it, { must_exist: true })));
      const host_paths = [...allowed_paths, ...(request.own_paths ?? [])];
      const host = { confinement, command: command('confine'), run_as: options.run_as, host_paths, slots };
      const started = await startConfined(request, host).catch((error: unknown) => {
        throw asLack(error);
      });
      commands.add(started);
      const abort = () => void started.kill();
      signal?.addEventListener('abort', abort, { once: true });
      void started.exit.then(() => {
        commands.delete(started);
        signal?.removeEventListener('abort', abort);
      });
      if (signal?.aborted || closing.signal.aborted) await started.kill();
      signal?.throwIfAborted();
      return started;
    },
    async close() {
      closing.abort(new Error(CLOSED));
      await Promise.all([calls.settled(), inspector.close(), ...[...commands].map((it) => it.kill())]);
      await confinement.close();
      await scratch.remove();
    },
  };
}

interface CallHost {
  options: ToolRunnerOptions;
  closing: AbortSignal;
  scratch: string;
  one_shot: readonly string[];
}

function createCallRunner(confinement: Confinement, { options, closing, scratch, one_shot }: CallHost) {
  const queue = gate(options.max_concurrent ?? MAX_CONCURRENT);
  const running = new Set<Promise<unknown>>();

  async function run(call: ToolRun, signal: AbortSignal): Promise<ToolAnswer> {
    signal.throwIfAborted();
    closing.throwIfAborted();
    if (confinement.tier === 'refused')
      return createFailedAnswer(`tools cannot be confined on this machine (${confinement.reason})`);
    const either = AbortSignal.any([signal, closing]);
    const leave = await queue.enter(either);
    const pass = call.network && confinement.proxy ? confinement.proxy.admit() : null;
    const began = performance.now();
    try {
      const job = toJob(call, surroundings(pass?.token ?? null));
      if (call.workspace && confinement.tier !== 'process') await shareWorkspace(call.workspace);
      const frame = await exchange(job, either);
      signal.throwIfAborted();
      const duration_ms = Math.round((performance.now() - began) * 1000) / 1000;
      if (!frame) return createFailedAnswer(closing.aborted ? CLOSED : 'the tool process was lost', duration_ms);
      return toAnswer(frame, call.env, duration_ms);
    } catch (reason) {
      if (reason instanceof WorkspaceOutside) return createFailedAnswer(reason.message);
      throw asLack(reason, 'the calls of tools (TMPDIR)');
    } finally {
      pass?.revoke();
      leave();
    }
  }

  function surroundings(token: string | null): Surroundings {
    return {
      tier: confinement.tier,
      timeout_ms: options.timeout_ms ?? TIMEOUT_MS,
      workspaces: options.workspaces ?? null,
      proxy: token === null ? null : { port: confinement.proxy?.port || RELAY_PORT, token },
    };
  }

  function exchange(job: Job, signal: AbortSignal): Promise<ChildFrame | null> {
    if (confinement.zygote) return confinement.zygote.call(job, signal);
    return runInProcess(one_shot, job, { scratch, signal });
  }

  return {
    run(call: ToolRun, signal: AbortSignal) {
      const mine = run(call, signal);
      const settled = mine.catch(() => {}).finally(() => running.delete(settled));
      running.add(settled);
      return mine;
    },
    settled: () => Promise.all(running),
  };
}
