import { v7 as uuid } from 'uuid';
import { conflict } from '../domain/errors.ts';
import type { Prisma, Workflow as Row } from '../generated/prisma/client.ts';
import { type Database, row } from './database.ts';
import { listed, type Paging, wire } from './page.ts';
import { refused } from './resource.ts';

interface WorkflowFilter extends Paging {
  owner: string;
  q?: string | undefined;
  agent_id?: string | undefined;
  status?: string | undefined;
  single_use?: boolean | undefined;
}

const NOUN = 'workflow';

/** Of workflows made for one request, those that it never came to run: it was refused, or its server died. */
const REMOVE_UNUSED = {
  name: 'remove_unused_workflows',
  text: `DELETE FROM workflows w WHERE single_use AND task_count = 0 AND created_at < $1
    AND NOT EXISTS (SELECT 1 FROM scheduled_agents s WHERE s.workflow_id = w.id)`,
};

/** On the path of every stream, where a whole row through Prisma would show. */
const OWNER = { name: 'owner_of_workflow', text: 'SELECT owner FROM workflows WHERE id = $1' };

export function workflowStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  return {
    async ownerOf(id: string): Promise<string | null> {
      return (await row<{ owner: string }>(pool, OWNER, [id]))?.owner ?? null;
    },
    list({ limit, cursor, q, ...same }: WorkflowFilter) {
      const where: Prisma.WorkflowWhereInput = { ...same, ...(q ? { title: { contains: q, mode: 'insensitive' } } : {}) };
      return listed(prisma.workflow, { where, paging: { limit, cursor }, shown: wired });
    },
    async find(id: string) {
      const found = await prisma.workflow.findUnique({ where: { id } });
      return found && wired(found);
    },
    async create(values: Omit<Prisma.WorkflowUncheckedCreateInput, 'id'> & { id?: string }) {
      return wired(await refused(NOUN, prisma.workflow.create({ data: { id: uuid(), ...values } })));
    },
    async update(id: string, values: Prisma.WorkflowUncheckedUpdateInput) {
      return wired(await refused(NOUN, prisma.workflow.update({ where: { id }, data: values })));
    },
    /** Switches off, or on again; a run under way goes on, and its state is shown when it is switched on. */
    async switch(id: string, status: 'active' | 'inactive') {
      const where = status === 'inactive' ? { id } : { id, status: 'inactive' };
      await prisma.workflow.updateMany({ where, data: { status } });
    },
    async remove(id: string) {
      const { count } = await prisma.workflow.deleteMany({ where: { id, active_task_id: null } });
      if (count === 0) throw conflict('A run of this workflow is under way; halt it first', 'workflow_running');
      await prisma.memory.deleteMany({ where: { workflow_id: id } });
    },
    async removeUnused(created_before: Date): Promise<void> {
      await row(pool, REMOVE_UNUSED, [created_before]);
    },
    /** Messages, logs and usage of the last run. */
    async lastRun(last_task_id: string | null) {
      if (!last_task_id) return { messages: [], logs: [], usage: NO_USAGE };
      const [messages, logs, task] = await Promise.all([
        prisma.taskMessage.findMany({ where: { task_id: last_task_id }, orderBy: [{ step: 'asc' }, { position: 'asc' }] }),
        prisma.event.findMany({ where: { task_id: last_task_id, type: 'log' }, orderBy: { seq: 'asc' } }),
        prisma.task.findUnique({ where: { id: last_task_id } }),
      ]);
      return {
        messages: messages.map(wire),
        logs: logs.map(({ data, timestamp }) => ({ ...(data as object), timestamp: timestamp.toISOString() })),
        usage: task ?? NO_USAGE,
      };
    },
  };
}

const NO_USAGE = { total_in: 0, total_out: 0, cost: 0, cache_read: 0, cache_write: 0, premium_requests: 0 };

/** `owner` on the wire is the login; who owns it is `owner_key`. */
const wired = ({ owner, owner_login, single_use: _, ...rest }: Row) => ({
  ...wire(rest),
  enabled: rest.status !== 'inactive',
  owner: owner_login,
  owner_key: owner,
});
export type WiredWorkflow = ReturnType<typeof wired>;
