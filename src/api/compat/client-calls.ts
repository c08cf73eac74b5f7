import { listClientTools } from '../../domain/definition.ts';
import { piecesOfText } from '../../domain/pieces.ts';
import { storable } from '../../domain/transcript.ts';
import { followInParts } from '../../events/follow.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { Caller } from '../../identity/caller.ts';
import type { ClientCall } from '../../store/runs/tool-ledger.ts';
import {
  type CompatRun,
  type CompatServices,
  type CompatTask,
  formatAnswer,
  getDefinition,
  PIECE,
  streamModelText,
  waitForEnd,
} from './runs.ts';

/** The state of a run at rest: it has ended, or waits for its client to execute calls. */
interface RunRest {
  task: CompatTask;
  calls: ClientCall[];
}

/** Waits until a run rests; if the signal aborts first, throws its reason. */
export async function waitForRest(services: CompatServices, run: CompatRun, signal: AbortSignal): Promise<RunRest> {
  const names = listClientTools(await getDefinition(services, run));
  if (names.length > 0)
    for await (const { type, data } of followInParts(services.following, { ...run, after: 0 }, signal)) {
      if (type !== 'status' || data?.status !== 'waiting') continue;
      const calls = await loadOpenCalls(services, run, names);
      const task = calls.length > 0 ? await services.store.tasks.find(run.task_id) : null;
      if (task) return { task, calls };
    }
  return { task: await waitForEnd(services, run, signal), calls: [] };
}

/**
 * Streams the text of a run until it rests. Each piece extends the previous ones. A run with an output schema streams only its
 * valid answer: the text before it would make the whole invalid. A run whose client executes calls also streams only its answer,
 * because it is streamed in several requests.
 */
export async function* streamAnswer(services: CompatServices, run: CompatRun, signal: AbortSignal): AsyncGenerator<string> {
  const definition = await getDefinition(services, run);
  if (!definition.output_schema && listClientTools(definition).length === 0) return yield* streamModelText(services, run, signal);
  const rest = await waitForRest(services, run, signal).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  if (rest?.task.status === 'completed') yield* piecesOfText(formatAnswer(rest.task), PIECE);
}

/** Returns the calls that a run waits for, once its client can answer all of them. */
export async function listOpenCalls(services: CompatServices, task: CompatTask): Promise<ClientCall[]> {
  if (task.status !== 'waiting') return [];
  const run = { task_id: task.id, workflow_id: task.workflow_id };
  return loadOpenCalls(services, run, listClientTools(await getDefinition(services, run)));
}

async function loadOpenCalls({ store }: CompatServices, { task_id }: CompatRun, names: string[]): Promise<ClientCall[]> {
  const calls = await store.ledger.lastCalls(task_id, names);
  if (calls.some(({ status }) => status === 'planned')) return [];
  return calls.filter(({ status, answered }) => status === 'waiting_client' && !answered);
}

/** The result of a call, by the call's id in the run. */
export interface CallOutput {
  call_id: string;
  output: string;
  /** True if the client could not execute the call; `output` is the reason. Absent: false. */
  failed?: boolean;
}

/** Delivers the results to the run. A result that the run already has stays unchanged, so that a request can be repeated. */
export async function answerCalls(
  { store, engine }: Pick<CompatServices, 'store' | 'engine'>,
  { task_id, workflow_id }: CompatRun,
  { outputs, forced_tools, caller }: { outputs: readonly CallOutput[]; forced_tools?: string[] | undefined; caller: Caller },
): Promise<void> {
  const { log } = createTaskEvents(task_id, () => new Date().toISOString());
  for (const { call_id, output, failed } of outputs) {
    const answer_event = log('client_call_answered', `${caller.login} sent the result`, { call_id });
    const result = storable(output);
    const outcome = failed ? { decision: 'fail' as const, message: result } : { decision: 'done' as const, result };
    const decision = { ...outcome, ...(forced_tools ? { forced_tools } : {}) };
    await store.ledger.decide({ task_id, workflow_id, call_id }, { decision, by: caller.key, events: [answer_event] });
    // The result is stored: if the engine is unreachable now, the reconciler delivers it.
    await engine.decide(task_id, call_id).catch(() => {});
  }
}
