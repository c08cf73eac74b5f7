import type { ToolCallRecord } from '../contracts/tasks.ts';
import type { PrismaClient, ToolCall } from '../generated/prisma/client.ts';
import { wire, wireAs } from './page.ts';

const REPORTED = ['output_guardrail_violation', 'budget_exhausted', 'compaction'].map((event) => ({
  data: { path: ['event'], equals: event },
}));

export type RunRecord = Awaited<ReturnType<InspectionStore['record']>>;
type InspectionStore = ReturnType<typeof inspectionStore>;

/** Reads runs for inspection, during or after the run. */
export function inspectionStore(prisma: PrismaClient) {
  return {
    /** Everything stored about a run's steps, with the events about guardrails and budgets. */
    async record(task_id: string) {
      const order = [{ step: 'asc' as const }, { position: 'asc' as const }];
      const [task, steps, messages, calls, events] = await Promise.all([
        prisma.task.findUniqueOrThrow({ where: { id: task_id } }),
        prisma.taskStep.findMany({ where: { task_id }, orderBy: { step: 'asc' } }),
        prisma.taskMessage.findMany({ where: { task_id }, orderBy: order }),
        prisma.toolCall.findMany({ where: { task_id }, orderBy: order }),
        prisma.event.findMany({ where: { task_id, type: 'log', OR: REPORTED }, orderBy: { seq: 'asc' } }),
      ]);
      return { task, steps, messages, calls, events };
    },
    /** Each step with its input to the model, the reply, and the calls of that reply. */
    async steps(task_id: string) {
      const [task, steps, messages, calls] = await Promise.all([
        prisma.task.findUnique({ where: { id: task_id }, select: { fork_step: true } }),
        prisma.taskStep.findMany({ where: { task_id }, orderBy: { step: 'asc' } }),
        prisma.taskMessage.findMany({ where: { task_id }, orderBy: [{ step: 'asc' }, { position: 'asc' }] }),
        prisma.toolCall.findMany({ where: { task_id }, orderBy: [{ step: 'asc' }, { position: 'asc' }] }),
      ]);
      const resultOf = ({ call_id }: ToolCall) => messages.find((message) => message.call_id === call_id)?.content ?? null;
      return steps.map(({ total_in, total_out, cache_read, cache_write, cost, ...step }) => ({
        ...wire(step),
        copied: step.step < (task?.fork_step ?? 0),
        usage: { total_in, total_out, cache_read, cache_write, cost },
        duration_ms: step.ended_at && step.ended_at.getTime() - step.started_at.getTime(),
        input: messages.filter((message) => message.step === step.step - 1 && message.role !== 'assistant'),
        output: messages.find((message) => message.step === step.step && message.position === 0)?.content ?? null,
        tool_calls: calls
          .filter((call) => call.step === step.step)
          .map((call) => ({ ...wireAs<ToolCallRecord>()(call), result: resultOf(call) })),
      }));
    },
  };
}
