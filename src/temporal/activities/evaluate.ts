import type { Grade } from '../../contracts/evaluations.ts';
import { BUDGET_SPENT } from '../../domain/cap-states.ts';
import { AppError } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { PublishChange } from '../../events/changes.ts';
import type { EvaluationStore, OpenResult } from '../../store/runs/evaluations.ts';
import type { TaskStore } from '../../store/runs/tasks.ts';
import type { Dispatch } from '../start/orders.ts';
import { type ChildRun, type Graded, type GraderPorts, runGrader, toChildRun } from './graders.ts';

export interface EvaluatePorts extends GraderPorts {
  evaluations: EvaluationStore;
  tasks: Pick<TaskStore, 'find'>;
  dispatch: Pick<Dispatch, 'evaluate' | 'judge' | 'halt'>;
  publishChange: PublishChange;
}

const toDatasetChange = (owner: string) => ({ kind: 'datasets', id: null, owner });

/** The grades that an item waits for: runs of judges, and tool calls, given by the positions of their graders. */
export interface OutstandingGrades {
  judges: ChildRun[];
  tools: number[];
  role_queues: boolean;
}

/** Returns the items that are not graded yet. */
export const openItemsActivity =
  ({ evaluations }: EvaluatePorts) =>
  async (evaluation_id: string): Promise<{ item_ids: string[]; parallel: number }> => {
    const evaluation = await evaluations.find(evaluation_id);
    if (evaluation?.status !== 'running') return { item_ids: [], parallel: 0 };
    return { item_ids: await evaluations.open(evaluation_id), parallel: evaluation.parallel };
  };

/**
 * Creates the run of an item, once. Returns null if the item has no run; the reason is then on record. Throws if the next attempt
 * may succeed.
 */
export const beginItemActivity =
  (ports: Omit<EvaluatePorts, 'callGrader' | 'providerToPin'>) =>
  async (evaluation_id: string, item_id: string): Promise<ChildRun | null> => {
    const { evaluations, dispatch } = ports;
    const claimed = await evaluations.claim({ evaluation_id, item_id });
    if (!claimed) return null;
    try {
      const { provider } = await ports.definition(claimed.definition_hash);
      const access_token = await ports.authorizeEvaluation(evaluation_id, { uses_token: provider === null });
      return toChildRun(ports, await dispatch.evaluate({ ...claimed, evaluation_id, access_token }));
    } catch (error) {
      const reason = toRefusal(error);
      await evaluations.settle({ evaluation_id, item_id }, { status: 'error', grades: [], error: reason });
      ports.publishChange(toDatasetChange(claimed.owner));
      return null;
    }
  };

/**
 * Returns the reason why no run was created. Throws if the next attempt may succeed, for example because there is no room now.
 */
function toRefusal(error: unknown): string {
  if (!(error instanceof AppError) || error.kind === 'unavailable' || (error.kind === 'too_many' && error.code !== BUDGET_SPENT))
    throw error;
  return error.message;
}

/** Grades the answer of an item's run. Returns `open` if the run has not ended. */
export const gradeItemActivity =
  (ports: EvaluatePorts) =>
  async (evaluation_id: string, item_id: string): Promise<'settled' | 'open' | OutstandingGrades> => {
    const { evaluations, role_queues } = ports;
    const place = { evaluation_id, item_id };
    const open = await evaluations.toGrade(place);
    if (!open) return 'settled';
    if (open.task_status !== null && !isTerminal(open.task_status)) return 'open';
    if (open.task_status !== 'completed') {
      await evaluations.settle(place, { status: 'error', grades: [], error: withoutAnswer(open) });
      ports.publishChange(toDatasetChange(open.owner));
      return 'settled';
    }
    const graded: Graded[] = [];
    for (const at of open.graders.keys())
      graded.push(await runGrader(ports, { place, open, at }).catch((error: unknown) => ({ fault: toRefusal(error) })));
    const judges = graded.flatMap((one) => ('judge' in one ? [one.judge] : []));
    const tools = graded.flatMap((one, at) => ('tool' in one ? [at] : []));
    if (judges.length > 0 || tools.length > 0) return { judges, tools, role_queues };
    await evaluations.settle(place, toResult(open, graded));
    ports.publishChange(toDatasetChange(open.owner));
    return 'settled';
  };

const withoutAnswer = ({ task_status, error }: OpenResult) =>
  task_status === null ? 'The run was deleted before it was graded' : (error ?? `The run was ${task_status}`);

/** Builds the result of an item. An item that a grader could not grade has neither passed nor failed. */
function toResult({ graders }: OpenResult, graded: readonly Graded[]) {
  const grades: Grade[] = graded.flatMap((one) => ('grade' in one ? [one.grade] : []));
  const faults = graded.flatMap((one, at) => ('fault' in one ? [`Grader ${at + 1} (${graders[at]?.type}): ${one.fault}`] : []));
  if (faults.length > 0) return { status: 'error' as const, grades, error: faults.join('; ') };
  return { status: grades.every(({ passed }) => passed) ? ('passed' as const) : ('failed' as const), grades, error: null };
}

/** Ends an evaluation, and the runs of its items without a result. */
export const endEvaluationActivity =
  ({ evaluations, tasks, dispatch, publishChange }: EvaluatePorts) =>
  async (evaluation_id: string): Promise<void> => {
    const ended = await evaluations.end(evaluation_id);
    const evaluation = await evaluations.find(evaluation_id);
    if (evaluation) publishChange(toDatasetChange(evaluation.created_by));
    for (const task_id of ended) {
      const task = await tasks.find(task_id);
      if (task && !isTerminal(task.status)) await dispatch.halt(task_id);
    }
  };
