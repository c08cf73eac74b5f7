import { Id } from '../../contracts/common.ts';
import { AppError, type FieldError, foreign, notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';

interface Kind<T> {
  noun: string;
  find(id: string): Promise<T | null>;
  ownerOf(record: T): string;
}

/** Finds the caller's records by id: 404 if none has the id, 403 if it belongs to someone else. */
const owned =
  <T>({ noun, find, ownerOf }: Kind<T>) =>
  async (id: string, caller: Caller): Promise<T> => {
    const record = Id.safeParse(id).success ? await find(id) : null;
    if (!record) throw notFound(noun, id);
    if (ownerOf(record) !== caller.key) throw foreign(noun);
    return record;
  };

export const ownedTask = ({ tasks }: Pick<Store, 'tasks'>) =>
  owned({ noun: 'task', find: tasks.find, ownerOf: ({ owner }) => owner });

export const ownedWorkflow = ({ workflows }: Pick<Store, 'workflows'>) =>
  owned({ noun: 'workflow', find: workflows.find, ownerOf: ({ owner_key }) => owner_key });

export const ownedDataset = ({ datasets }: Pick<Store, 'datasets'>) =>
  owned({ noun: 'dataset', find: datasets.find, ownerOf: ({ created_by }) => created_by });

export const ownedSchedule = ({ scheduledAgents }: Pick<Store, 'scheduledAgents'>) =>
  owned({ noun: 'scheduled agent', find: scheduledAgents.find, ownerOf: ({ owner }) => owner });

export const ownedSession = ({ chat }: Pick<Store, 'chat'>) =>
  owned({ noun: 'chat session', find: chat.find, ownerOf: ({ owner }) => owner });

export const ownedAlert = ({ alerts }: Pick<Store, 'alerts'>) =>
  owned({ noun: 'alert', find: alerts.find, ownerOf: ({ owner }) => owner });

/** 422 if the workflow does not exist; 403 if it belongs to someone else. */
export async function refuseForeignWorkflow(store: Pick<Store, 'workflows'>, workflow_id: string, caller: Caller): Promise<void> {
  try {
    await ownedWorkflow(store)(workflow_id, caller);
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'not_found') throw error;
    const wrong: FieldError = { path: 'workflow_id', message: `No workflow with id ${workflow_id}` };
    throw unprocessable([wrong]);
  }
}
