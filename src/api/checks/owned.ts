import { Id } from '../../contracts/common.ts';
import { AppError, conflict, type FieldError, foreign, notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';

interface Kind<T> {
  noun: string;
  find(id: string): Promise<T | null>;
  getOwner(record: T): string;
}

/** Finds the caller's records by id; throws 404 if the id is unknown, 403 if the record belongs to someone else. */
const getOwn =
  <T>({ noun, find, getOwner }: Kind<T>) =>
  async (id: string, caller: Caller): Promise<T> => {
    const record = Id.safeParse(id).success ? await find(id) : null;
    if (!record) throw notFound(noun, id);
    if (getOwner(record) !== caller.key) throw foreign(noun);
    return record;
  };

export const getOwnTask = ({ tasks }: Pick<Store, 'tasks'>) =>
  getOwn({ noun: 'task', find: tasks.find, getOwner: ({ owner }) => owner });

export const getOwnWorkflow = ({ workflows }: Pick<Store, 'workflows'>) =>
  getOwn({ noun: 'workflow', find: workflows.find, getOwner: ({ owner_key }) => owner_key });

export const getOwnDataset = ({ datasets }: Pick<Store, 'datasets'>) =>
  getOwn({ noun: 'dataset', find: datasets.find, getOwner: ({ created_by }) => created_by });

export const getOwnSchedule = ({ scheduledAgents }: Pick<Store, 'scheduledAgents'>) =>
  getOwn({ noun: 'scheduled agent', find: scheduledAgents.find, getOwner: ({ owner }) => owner });

export const getOwnSession = ({ chats }: Pick<Store, 'chats'>) =>
  getOwn({ noun: 'chat session', find: chats.find, getOwner: ({ owner }) => owner });

export const getOwnThread = ({ threads }: Pick<Store, 'threads'>) =>
  getOwn({ noun: 'thread', find: threads.find, getOwner: ({ owner }) => owner });

/** Returns the workflow in which the turns of a thread run. Throws if there is none yet: nobody has said which model answers. */
export function getHome({ workflow_id }: { workflow_id: string | null }): string {
  if (workflow_id !== null) return workflow_id;
  throw conflict(
    'This conversation has no agent or workflow yet; send its first message to POST /v1/responses, which names one as its model',
    'thread_without_workflow',
  );
}

/** Throws if a workflow begins no threads. One that exists continues, whatever the setting is now. */
export function refuseWithoutThreads({ remember }: { remember: string }, path: string): void {
  if (remember !== 'none') return;
  throw unprocessable([{ path, message: 'This workflow has no threads; set its `remember` to thread' }]);
}

export const getOwnAlert = ({ alerts }: Pick<Store, 'alerts'>) =>
  getOwn({ noun: 'alert', find: alerts.find, getOwner: ({ owner }) => owner });

/** Throws 422 if the workflow does not exist, 403 if it belongs to someone else. */
export async function refuseForeignWorkflow(store: Pick<Store, 'workflows'>, workflow_id: string, caller: Caller) {
  try {
    return await getOwnWorkflow(store)(workflow_id, caller);
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'not_found') throw error;
    const wrong: FieldError = { path: 'workflow_id', message: `No workflow with id ${workflow_id}` };
    throw unprocessable([wrong]);
  }
}
