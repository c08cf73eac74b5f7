import type { LogName } from '../../contracts/log-events.ts';
import type { ToolCallRecord } from '../../contracts/tasks.ts';
import type { TASK_STATUSES } from '../../domain/statuses.ts';
import type { EarlierMessage } from '../../domain/thread.ts';
import { toShownCost } from '../../domain/usage.ts';
import type { PrismaClient, TaskMessage, TaskStep, ToolCall } from '../../generated/prisma/client.ts';
import { rowsWithin } from '../database/database.ts';
import { wire, wireAs } from '../database/page.ts';
import { findLogs, findLogsAndStatuses, findStatuses } from './recorded-events.ts';
import { earlierMessages } from './threads.sql.ts';
import { buildTimeline, mergeFlags, sumWaitingMs, TIMED_LOGS, type TimelineSpan } from './timeline.ts';

const REPORTED = [
  'output_guardrail_violation',
  'budget_exhausted',
  'unpriced_model',
  'compaction',
  'forked',
] as const satisfies LogName[];

const MOST_FORKS = 100;

/** The question to a person and their answers while a call is in progress. */
const QUESTIONS = { question: true, answers: true } as const;

type TaskStatus = (typeof TASK_STATUSES)[number];

export type RunRecord = Awaited<ReturnType<InspectionStore['record']>>;
type InspectionStore = ReturnType<typeof inspectionStore>;

/** Reads runs for inspection, during or after the run. */
export function inspectionStore(prisma: PrismaClient) {
  return {
    /** Returns everything stored about a run's steps, with the events about guardrails, budgets and its fork. */
    async record(task_id: string) {
      const order = [{ step: 'asc' as const }, { position: 'asc' as const }];
      const [task, steps, messages, calls, events, [context]] = await Promise.all([
        prisma.task.findUniqueOrThrow({ where: { id: task_id } }),
        prisma.taskStep.findMany({ where: { task_id }, orderBy: { step: 'asc' } }),
        prisma.taskMessage.findMany({ where: { task_id }, orderBy: order }),
        prisma.toolCall.findMany({ where: { task_id }, orderBy: order, omit: QUESTIONS }),
        findLogs(prisma, task_id, REPORTED),
        rowsWithin<{ earlier: EarlierMessage[] }>(prisma, earlierMessages({ task_id })),
      ]);
      return { task, steps, messages, calls, events, earlier: context!.earlier };
    },
    /** Returns each step, or only one, with its input to the model, the reply, and the calls of that reply. */
    async steps(task_id: string, only?: number) {
      const order = [{ step: 'asc' as const }, { position: 'asc' as const }];
      const of = (...steps: number[]) => ({ task_id, ...(only === undefined ? {} : { step: { in: steps } }) });
      const at = only ?? 0;
      const [task, steps, messages, calls] = await Promise.all([
        prisma.task.findUnique({ where: { id: task_id }, select: { fork_step: true } }),
        prisma.taskStep.findMany({ where: of(at), orderBy: { step: 'asc' } }),
        prisma.taskMessage.findMany({ where: of(at - 1, at), orderBy: order }),
        prisma.toolCall.findMany({ where: of(at), orderBy: order, omit: { answers: true } }),
      ]);
      const messagesOf = Map.groupBy(messages, ({ step }) => step);
      const callsOf = Map.groupBy(calls, ({ step }) => step);
      return steps.map((step) =>
        stepView(step, {
          copied: step.step < (task?.fork_step ?? 0),
          before: messagesOf.get(step.step - 1) ?? [],
          messages: messagesOf.get(step.step) ?? [],
          calls: callsOf.get(step.step) ?? [],
        }),
      );
    },
    /** Returns the run's timeline. */
    async timeline(task_id: string): Promise<TimelineSpan[]> {
      const order = [{ step: 'asc' as const }, { position: 'asc' as const }];
      const [task, steps, calls, events] = await Promise.all([
        prisma.task.findUniqueOrThrow({
          where: { id: task_id },
          select: { status: true, completed_at: true, fork_step: true },
        }),
        prisma.taskStep.findMany({ where: { task_id }, orderBy: { step: 'asc' } }),
        prisma.toolCall.findMany({
          where: { task_id },
          orderBy: order,
          omit: { ...QUESTIONS, arguments: true, stdout: true, stderr: true },
        }),
        findLogsAndStatuses(prisma, task_id, TIMED_LOGS),
      ]);
      return buildTimeline({ task, steps, calls, events });
    },
    /**
     * Returns how long the run has waited until a time, the models that have answered it, and the runs that were forked from it.
     */
    async figures(task_id: string, until: Date) {
      const [changes, models, forks] = await Promise.all([
        findStatuses(prisma, task_id),
        prisma.taskStep.findMany({ where: { task_id, ended_at: { not: null } }, distinct: ['model'], select: { model: true } }),
        prisma.task.findMany({
          where: { forked_from: task_id },
          orderBy: { id: 'asc' },
          take: MOST_FORKS,
          select: { id: true, fork_step: true, status: true, created_at: true },
        }),
      ]);
      return {
        waiting_ms: sumWaitingMs(changes, until),
        models: models.map(({ model }) => model),
        forks: forks.map(({ id, fork_step, status, created_at }) => ({
          task_id: id,
          step: fork_step!,
          status: status as TaskStatus,
          created_at: created_at.toISOString(),
        })),
      };
    },
  };
}

/** Hides the question of a lost attempt, which nobody has to answer any more. */
const openQuestion = ({ status }: Pick<ToolCall, 'status'>) => (status === 'waiting_answer' ? {} : { question: null });

interface StepParts {
  copied: boolean;
  /** The messages of the previous step. */
  before: TaskMessage[];
  messages: TaskMessage[];
  calls: Omit<ToolCall, 'answers'>[];
}

function stepView(row: TaskStep, { copied, before, messages, calls }: StepParts) {
  const {
    total_in,
    total_out,
    cache_read,
    cache_write,
    cost,
    estimated: _,
    unpriced: __,
    failed_attempt: ___,
    passed_on: ____,
    ...step
  } = row;
  const { estimated, unpriced } = mergeFlags(row);
  const findResult = ({ call_id }: Pick<ToolCall, 'call_id'>) =>
    messages.find((message) => message.call_id === call_id)?.content ?? null;
  return {
    ...wire(step),
    copied,
    usage: {
      total_in,
      total_out,
      cache_read,
      cache_write,
      estimated,
      cost: toShownCost(cost, unpriced),
      priced: !unpriced,
    },
    duration_ms: step.ended_at && step.ended_at.getTime() - step.started_at.getTime(),
    input: before.filter(({ role }) => role !== 'assistant'),
    output: messages.find(({ position }) => position === 0)?.content ?? null,
    tool_calls: calls.map((call) => ({ ...wireAs<ToolCallRecord>()(call), ...openQuestion(call), result: findResult(call) })),
  };
}
