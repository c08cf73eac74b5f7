import type { Grade, Grader } from '../../contracts/evaluations.ts';
import { AppError } from '../../domain/errors.ts';
import { difference, gradedText } from '../../domain/grading.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { EvaluationStore } from '../../store/evaluations.ts';
import type { TaskStore } from '../../store/tasks.ts';
import type { Dispatch } from '../dispatch.ts';
import { attributeValues, runTexts } from '../engine.ts';
import type { RunInput } from '../names.ts';

export interface EvaluatePorts {
  evaluations: EvaluationStore;
  tasks: Pick<TaskStore, 'find'>;
  dispatch: Pick<Dispatch, 'evaluate' | 'halt'>;
  reasonsOf: Judge['promptReasons'];
  /** Where people reach the service, for links to its dashboard; null: not configured. */
  public_url(): string | null;
  /** Whether runs that start now send model and tool calls to separate queues. */
  role_queues: boolean;
}

/** A run to start, with what the Temporal UI shows of it. */
export interface BegunItem {
  run: RunInput;
  texts: { staticSummary: string; staticDetails: string };
  attributes: Record<string, string>;
}

/** What is left to do. */
export const openItemsActivity =
  ({ evaluations }: EvaluatePorts) =>
  async (evaluation_id: string): Promise<{ item_ids: string[]; parallel: number }> => {
    const found = await evaluations.find(evaluation_id);
    if (found?.status !== 'running') return { item_ids: [], parallel: 0 };
    return { item_ids: await evaluations.open(evaluation_id), parallel: found.parallel };
  };

/** Creates the run of an item, once. Null: it has none, and the reason is on record. Throws if the next attempt may succeed. */
export const beginItemActivity =
  ({ evaluations, dispatch, public_url, role_queues }: EvaluatePorts) =>
  async (evaluation_id: string, item_id: string): Promise<BegunItem | null> => {
    const claimed = await evaluations.claim({ evaluation_id, item_id });
    if (!claimed) return null;
    try {
      const access_token = await evaluations.tokenOf(evaluation_id);
      const { run, labels } = await dispatch.evaluate({ ...claimed, evaluation_id, access_token });
      return {
        run: role_queues ? { ...run, role_queues } : run,
        texts: runTexts(run, labels, public_url()),
        attributes: attributeValues(labels),
      };
    } catch (error) {
      // There is no room now; the next attempt may find some.
      if (!(error instanceof AppError) || error.kind === 'unavailable' || error.kind === 'too_many') throw error;
      await evaluations.settle({ evaluation_id, item_id }, { status: 'error', grades: [], error: error.message });
      return null;
    }
  };

/** Grades the answer of an item's run. `open`: the run has not ended. */
export const gradeItemActivity =
  (ports: EvaluatePorts) =>
  async (evaluation_id: string, item_id: string): Promise<'settled' | 'open'> => {
    const { evaluations, tasks } = ports;
    const place = { evaluation_id, item_id };
    const open = await evaluations.toGrade(place);
    if (!open) return 'settled';
    const task = await tasks.find(open.task_id);
    if (task && !isTerminal(task.status)) return 'open';
    if (task?.status !== 'completed') {
      const error = task ? (task.error ?? `The run was ${task.status}`) : 'The run was deleted before it was graded';
      await evaluations.settle(place, { status: 'error', grades: [], error });
      return 'settled';
    }
    const grades: Grade[] = [];
    for (const grader of open.graders) grades.push(await gradeOf(ports, grader, { ...open, answer: task.response }));
    const status = grades.every(({ passed }) => passed) ? 'passed' : 'failed';
    await evaluations.settle(place, { status, grades, error: null });
    return 'settled';
  };

/** Ends an evaluation, and the runs of items without a result. */
export const endEvaluationActivity =
  ({ evaluations, tasks, dispatch }: EvaluatePorts) =>
  async (evaluation_id: string): Promise<void> => {
    for (const task_id of await evaluations.end(evaluation_id)) {
      const task = await tasks.find(task_id);
      if (task && !isTerminal(task.status)) await dispatch.halt(task_id);
    }
  };

interface Graded {
  answer: unknown;
  expected: unknown;
  owner: string;
}

async function gradeOf({ reasonsOf }: EvaluatePorts, grader: Grader, { answer, expected, owner }: Graded): Promise<Grade> {
  const reasons = async () => {
    if (grader.type === 'exact') return [difference(answer, expected, grader) ?? []].flat();
    return (await reasonsOf(guardrailOf(grader), gradedText(answer), owner)).reasons;
  };
  const [reason = null] = await reasons();
  return { grader: grader.type, passed: reason === null, reason };
}

/** The guardrail that accepts what a grader accepts. */
function guardrailOf(grader: Exclude<Grader, { type: 'exact' }>) {
  const { type: name } = grader;
  return grader.type === 'regex'
    ? { name, guardrail_type: 'prompt', config: { required_patterns: [grader.pattern] } }
    : { name, guardrail_type: 'request', config: { json_schema: grader.json_schema } };
}
