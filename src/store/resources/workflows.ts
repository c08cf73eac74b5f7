import { v7 as uuid } from 'uuid';
import type { StoredFallback } from '../../contracts/fallbacks.ts';
import type { TranscriptEntry, WorkflowSettings, WorkflowSummary } from '../../contracts/workflows.ts';
import { conflict } from '../../domain/errors.ts';
import { toShownCost } from '../../domain/usage.ts';
import type { Prisma, Workflow as Row } from '../../generated/prisma/client.ts';
import { type Database, inTransaction, row, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { translateConstraintErrors } from '../database/resource.ts';
import { removeEventsOfWorkflow } from '../runs/event-partitions.sql.ts';
import { findAllLogs } from '../runs/recorded-events.ts';
import type { Granting } from '../secrets/granting.ts';
import * as sql from './workflows.sql.ts';

interface WorkflowFilter extends Paging {
  owner: string;
  q?: string | undefined;
  agent_id?: string | undefined;
  status?: string | undefined;
  single_use?: boolean | undefined;
}

/** The input of a new workflow: its settings, and the fields that the caller adds. */
interface NewWorkflow extends Partial<WorkflowSettings> {
  agent_id: string;
  /** The id, if one was reserved for the request. */
  id?: string;
  owner: string;
  owner_login: string;
  /** Created for one request of a compatible API. */
  single_use?: boolean;
  /** Created for one run of this evaluation. */
  evaluation_id?: string;
}

/** Selects workflows by what their runs use; absent: any. */
interface AskingModels {
  owner: string;
  limited: boolean;
  workflow_id?: string | undefined;
  agent_id?: string | undefined;
  provider_id?: string | undefined;
}

/** A workflow, and what decides which model its runs ask. */
interface AskingWorkflow {
  id: string;
  title: string | null;
  model: string | null;
  agent: { id: string; model: string | null; provider_id: string | null; fallbacks: StoredFallback[] };
}

const NOUN = 'workflow';

interface Parts extends Pick<Database, 'pool' | 'prisma'> {
  granting: Granting;
}

export type WorkflowStore = ReturnType<typeof workflowStore>;

export function workflowStore({ pool, prisma, granting }: Parts) {
  /** Returns the workflows with the usage of their last runs. */
  async function withUsage<W extends WiredWorkflow>(workflows: W[]) {
    const ids = workflows.flatMap(({ last_task_id }) => last_task_id ?? []);
    const tasks = await prisma.task.findMany({ where: { id: { in: ids } }, select: { id: true, ...USAGE } });
    const usages = new Map(tasks.map((task) => [task.id, toUsage(task)]));
    return workflows.map((workflow) => ({ ...workflow, usage: usages.get(workflow.last_task_id ?? '') ?? NO_USAGE }));
  }

  return {
    async findOwner(id: string): Promise<string | undefined> {
      return (await row<{ owner: string }>(pool, sql.ownerOfWorkflow({ id })))?.owner;
    },
    /**
     * True if its runs call the default runtime, for which they need their owner's access token. False if there is no such
     * workflow.
     */
    async usesCallerToken(id: string): Promise<boolean> {
      const select = { agent: { select: { provider_id: true } } } as const;
      return (await prisma.workflow.findUnique({ where: { id }, select }))?.agent.provider_id === null;
    },
    async list({ limit, cursor, q, ...same }: WorkflowFilter) {
      const where: Prisma.WorkflowWhereInput = {
        ...same,
        evaluation_id: null,
        ...(q ? { title: { contains: q, mode: 'insensitive' } } : {}),
      };
      const page = await listPage(prisma.workflow, { where, paging: { limit, cursor }, toItem: toWorkflow });
      return { ...page, items: await withUsage(page.items) };
    },
    async find(id: string) {
      const workflow = await prisma.workflow.findUnique({ where: { id } });
      return workflow && toWorkflow(workflow);
    },
    /** Creates a workflow. `by` is the principal who saves it; the workflow is granted the tokens of `by` that it names. */
    async create(values: NewWorkflow, by?: string) {
      const data = { id: uuid(), ...values } as Prisma.WorkflowUncheckedCreateInput;
      return toWorkflow(
        await granting.saving('workflow', by, (on) => translateConstraintErrors(NOUN, on.workflow.create({ data }))),
      );
    },
    async update(id: string, values: Partial<WorkflowSettings>, by?: string) {
      const data = values as Prisma.WorkflowUncheckedUpdateInput;
      return toWorkflow(
        await granting.saving('workflow', by, (on) =>
          translateConstraintErrors(NOUN, on.workflow.update({ where: { id }, data })),
        ),
      );
    },
    /** Switches a workflow off or on. A run in progress continues; its status shows again once the workflow is on. */
    async switch(id: string, status: 'active' | 'inactive') {
      const where = status === 'inactive' ? { id } : { id, status: 'inactive' };
      await prisma.workflow.updateMany({ where, data: { status } });
    },
    async remove(id: string) {
      await inTransaction(pool, async (on) => {
        await row(on, sql.lockWorkflow({ id }));
        // A separate statement, so that it sees the threads begun until the workflow was locked.
        if (!(await row(on, sql.removeWorkflow({ id }))))
          throw conflict('A run of this workflow is in progress; halt it first', 'workflow_running');
        // A separate statement, so that it sees the events written until the workflow was locked.
        await rows(on, removeEventsOfWorkflow({ workflow_id: id }));
      });
      await prisma.memory.deleteMany({ where: { workflow_id: id } });
    },
    /**
     * Lists the principal's workflows, each with its agent's choice of models; `limited`: only those with a limit in dollars. A
     * provider is also used by those that name it as a fallback.
     */
    async listAskingModels({ owner, limited, ...chosen }: AskingModels): Promise<AskingWorkflow[]> {
      const { workflow_id, agent_id, provider_id } = chosen;
      const naming = { fallbacks: { array_contains: [{ provider_id }] } };
      const falling = provider_id ? await prisma.provider.findMany({ where: naming, select: { id: true } }) : [];
      const provider_ids = [provider_id, ...falling.map(({ id }) => id)];
      const where: Prisma.WorkflowWhereInput = {
        owner,
        evaluation_id: null,
        single_use: false,
        ...(workflow_id ? { id: workflow_id } : {}),
        ...(agent_id ? { agent_id } : {}),
        ...(provider_id ? { agent: { OR: [{ provider_id: { in: provider_ids as string[] } }, naming] } } : {}),
        ...(limited ? { budget: { path: ['max_cost_usd'], gt: 0 } } : {}),
      };
      const agent = { select: { id: true, model: true, provider_id: true, fallbacks: true } } as const;
      const select = { id: true, title: true, model: true, agent } as const;
      return (await prisma.workflow.findMany({ where, orderBy: { id: 'asc' }, select })) as unknown as AskingWorkflow[];
    },
    async removeUnused(created_before: Date): Promise<void> {
      await row(pool, sql.removeUnusedWorkflows({ created_before }));
    },
    /** Returns the messages, logs and usage of the last run. */
    async lastRun(last_task_id: string | null) {
      if (!last_task_id) return { messages: [], logs: [], usage: NO_USAGE };
      const [messages, logs, task, cut_steps] = await Promise.all([
        prisma.taskMessage.findMany({ where: { task_id: last_task_id }, orderBy: [{ step: 'asc' }, { position: 'asc' }] }),
        findAllLogs(prisma, last_task_id),
        prisma.task.findUnique({ where: { id: last_task_id } }),
        prisma.taskStep.findMany({ where: { task_id: last_task_id, finish: 'length' }, select: { step: true } }),
      ]);
      const isTruncated = ({ kind, step }: { kind: string; step: number }) =>
        kind === 'reply' && cut_steps.some((cut) => cut.step === step);
      return {
        messages: messages.map((message) => wireAs<TranscriptEntry>()({ ...message, truncated: isTruncated(message) })),
        logs: (task ? logs : []).map(({ data, timestamp }) => ({ ...data, timestamp: timestamp.toISOString() })),
        usage: task ? toUsage(task) : NO_USAGE,
      };
    },
  };
}

const USAGE = {
  usage_estimated: true,
  unpriced_models: true,
  total_in: true,
  total_out: true,
  cost: true,
  cache_read: true,
  cache_write: true,
  premium_requests: true,
};
const toUsage = <T extends { usage_estimated: boolean; unpriced_models: string[]; cost: number }>(task: T) => ({
  ...task,
  estimated: task.usage_estimated,
  cost: toShownCost(task.cost, task.unpriced_models.length > 0),
  priced: task.unpriced_models.length === 0,
});
const NO_USAGE = { total_in: 0, total_out: 0, cost: 0, cache_read: 0, cache_write: 0, premium_requests: 0 };

/** Converts a row to the wire format, where `owner` is the login. Ownership is decided by `owner_key`. */
const toWorkflow = ({ owner, owner_login, single_use: _, evaluation_id: _evaluation, ...rest }: Row) => ({
  ...wireAs<Omit<WorkflowSummary, 'usage'>>()(rest),
  enabled: rest.status !== 'inactive',
  owner: owner_login,
  owner_key: owner,
});
export type WiredWorkflow = ReturnType<typeof toWorkflow>;
