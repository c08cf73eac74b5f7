import { Context } from '@temporalio/activity';
import { v7 as uuid } from 'uuid';
import type { Grade, Grader } from '../../contracts/evaluations.ts';
import type { Definition } from '../../domain/definition.ts';
import { difference, toGradedText } from '../../domain/grading.ts';
import { type GradingOutcome, type JudgedAnswer, judgeDefinition, judgePrompt, verdictOfJudge } from '../../domain/judging.ts';
import { isTerminal } from '../../domain/statuses.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Store } from '../../store/index.ts';
import type { EvaluationStore, OpenResult } from '../../store/runs/evaluations.ts';
import type { TaskStore } from '../../store/runs/tasks.ts';
import { attributeValues, runTexts } from '../client/run-labels.ts';
import type { RunInput } from '../names.ts';
import type { Dispatch } from '../start/orders.ts';

export interface GraderPorts {
  evaluations: Pick<EvaluationStore, 'toGrade' | 'note'>;
  /**
   * Checks the present rights of an evaluation's owner. Throws an AppError with the reason if the owner may start nothing.
   * Returns the token for the default runtime.
   */
  authorizeEvaluation(evaluation_id: string, facts: { uses_token: boolean }): Promise<string | null>;
  tasks: Pick<TaskStore, 'find'>;
  dispatch: Pick<Dispatch, 'judge'>;
  definition(hash: string): Promise<Definition>;
  providerToPin: Store['providerToPin'];
  listPromptReasons: Judge['listPromptReasons'];
  /** Calls a custom tool of the owner. The tool's own failures are faults; throws if a later attempt may succeed. */
  callGrader(call: GraderCall, signal: AbortSignal): Promise<GradingOutcome>;
  /** Returns the service's public address, for links to its dashboard; null: not configured. */
  public_url(): string | null;
  /** True if runs that start now send model and tool calls to separate queues. */
  role_queues: boolean;
}

interface GraderCall {
  tool_id: string;
  owner: string;
  /** The idempotency key of the call: the same for each attempt. */
  call_key: string;
  judged_answer: JudgedAnswer;
}

/** A run to start, and the texts that the Temporal UI shows for it. */
export interface ChildRun {
  run: RunInput;
  texts: { staticSummary: string; staticDetails: string };
  attributes: Record<string, string>;
}

type Prepared = Awaited<ReturnType<Dispatch['judge']>>;

export const toChildRun = (
  { public_url, role_queues }: Pick<GraderPorts, 'public_url' | 'role_queues'>,
  { run, labels }: Prepared,
): ChildRun => ({
  run: role_queues ? { ...run, role_queues } : run,
  texts: runTexts(run, labels, public_url()),
  attributes: attributeValues(labels),
});

interface Place {
  evaluation_id: string;
  item_id: string;
}

/** A grader, given by its position, and the item that it grades. */
interface Grading {
  place: Place;
  open: OpenResult;
  at: number;
}

/** A grade, or the reason why there is none, or the thing it waits for: the run of a judge, or the call of a tool. */
export type Graded = { grade: Grade } | { fault: string } | { judge: ChildRun } | { tool: true };

export async function runGrader(ports: GraderPorts, grading: Grading): Promise<Graded> {
  const { open, at } = grading;
  const grader = open.graders[at] as Grader;
  if (grader.type === 'model') return gradeByModel(ports, grading, grader);
  if (grader.type === 'python') return checkToolGrade(ports, grading);
  const [reason = null] =
    grader.type === 'exact'
      ? [difference(open.answer, open.expected, grader) ?? []].flat()
      : (await ports.listPromptReasons(toGuardrail(grader), toGradedText(open.answer), open.owner)).reasons;
  return { grade: { grader: grader.type, passed: reason === null, reason } };
}

/** Returns the guardrail that accepts the same answers as a grader. */
function toGuardrail(grader: Extract<Grader, { type: 'regex' | 'json_schema' }>) {
  const { type: name } = grader;
  return grader.type === 'regex'
    ? { name, guardrail_type: 'prompt', config: { required_patterns: [grader.pattern] } }
    : { name, guardrail_type: 'request', config: { json_schema: grader.json_schema } };
}

type ModelGrader = Extract<Grader, { type: 'model' }>;

async function gradeByModel(ports: GraderPorts, { place, open, at }: Grading, grader: ModelGrader): Promise<Graded> {
  const grading = open.grading[at];
  const task = grading && 'task_id' in grading ? await ports.tasks.find(grading.task_id) : null;
  if (!task || !isTerminal(task.status)) return beginJudge(ports, { place, open, at }, grader);
  if (task.status !== 'completed') return { fault: `The judge's run was ${task.status}${task.error ? `: ${task.error}` : ''}` };
  return toGraded(verdictOfJudge(task.response, grader.pass_at), { grader: 'model', task_id: task.id });
}

/** Creates the run of a judge, once. */
async function beginJudge(ports: GraderPorts, { place, open, at }: Grading, grader: ModelGrader): Promise<Graded> {
  const { provider_id, model } = grader;
  const provider_pin =
    provider_id === null ? { provider: null, exchange_limits: undefined } : await ports.providerToPin(provider_id);
  if (!provider_pin) return { fault: `No provider with id ${provider_id}: it was deleted after the evaluation had started` };
  const work = await ports.evaluations.note(place, at, { task_id: uuid() });
  if (!work || !('task_id' in work)) return { fault: 'The item has a result' };
  const { definition_hash, workflow_id, owner, owner_login, service_key_id } = open;
  const definition = judgeDefinition(await ports.definition(definition_hash), { ...provider_pin, model }, grader);
  const { evaluation_id } = place;
  const access_token = await ports.authorizeEvaluation(evaluation_id, { uses_token: provider_id === null });
  const caller = { owner, owner_login, access_token, service_key_id };
  const order = { ...caller, evaluation_id, workflow_id, task_id: work.task_id, prompt: judgePrompt(open) };
  return { judge: toChildRun(ports, await ports.dispatch.judge(order, definition)) };
}

async function checkToolGrade({ authorizeEvaluation }: GraderPorts, { place, open, at }: Grading): Promise<Graded> {
  const grading = open.grading[at];
  if (grading && !('task_id' in grading)) return toGraded(grading, { grader: 'python' });
  await authorizeEvaluation(place.evaluation_id, { uses_token: false });
  return { tool: true };
}

const toGraded = (outcome: GradingOutcome, facts: Pick<Grade, 'grader' | 'task_id'>): Graded =>
  'fault' in outcome ? outcome : { grade: { ...facts, ...outcome.verdict } };

/** Calls the tool of a grader and writes its verdict, once. */
export const gradeByToolActivity =
  ({ evaluations, callGrader }: Pick<GraderPorts, 'evaluations' | 'callGrader'>) =>
  async (evaluation_id: string, item_id: string, at: number): Promise<void> => {
    const place = { evaluation_id, item_id };
    const open = await evaluations.toGrade(place);
    const grader = open?.graders[at];
    if (grader?.type !== 'python' || !open || open.grading[at]) return;
    const { owner, prompt, answer, expected } = open;
    const call_key = `${evaluation_id}:${item_id}:${at}`;
    const call = { tool_id: grader.tool_id, owner, call_key, judged_answer: { prompt, answer, expected } };
    await evaluations.note(place, at, await callGrader(call, Context.current().cancellationSignal));
  };
