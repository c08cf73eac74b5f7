import type { Warning } from '../../contracts/common.ts';
import type { WorkflowSummary } from '../../contracts/workflows.ts';
import { conflict, unprocessable } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { WiredWorkflow } from '../../store/resources/workflows.ts';
import type { Schedules } from '../../temporal/client/schedules.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { haltAll } from '../checks/halts.ts';

type Status = WorkflowSummary['status'];

/** Returns the requested on/off state, from `status` or `enabled`. A client may send back both and have changed one. */
export function getRequestedState(
  { status, enabled }: { status?: Status | undefined; enabled?: boolean | undefined },
  before: { status: string },
): 'active' | 'inactive' | null {
  const requested_status = status === 'active' || status === 'inactive' ? status : null;
  const other = enabled === undefined ? null : enabled ? ('active' as const) : ('inactive' as const);
  if (requested_status === null || other === null || requested_status === other) return requested_status ?? other;
  return (requested_status === 'inactive') === (before.status === 'inactive') ? other : requested_status;
}

/**
 * Warns about a status that only runs set, and refuses it unless it is the present one. A whole record may also have the status
 * that the client loaded, which may have changed since; that is not a request to change it.
 */
export function listStatusWarnings(
  status: Status | undefined,
  before: { status: string },
  { whole }: { whole: boolean },
): Warning[] {
  if (!status || status === 'active' || status === 'inactive' || status === before.status) return [];
  const warning = { path: 'status', message: `The status ${status} is only set by runs; send active or inactive` };
  if (!whole) throw unprocessable([warning]);
  return [warning];
}

interface Services {
  store: Store;
  dispatch: Dispatch;
  schedules: Schedules;
}

/** Prepares the deletion of a workflow: 409 if it has schedules or a run in progress; `force` removes and halts them. */
export async function prepareDeletion(
  { store, dispatch, schedules }: Services,
  { id, owner_key }: WiredWorkflow,
  force: boolean,
): Promise<void> {
  const { items } = await store.scheduledAgents.list({ owner: owner_key, workflow_id: id, limit: 1_000 });
  const enabled = items.filter((schedule) => schedule.enabled);
  const live = () => store.tasks.listOpenIds(id);
  if (!force) {
    if (enabled.length > 0)
      throw conflict(
        `${formatNames(enabled)} would stop running; disable it, or delete the workflow with ?force=true`,
        'workflow_scheduled',
      );
    if ((await live()).length > 0)
      throw conflict(
        'A run of this workflow is in progress; halt it first, or delete the workflow with ?force=true',
        'workflow_running',
      );
    return;
  }
  for (const schedule of items) {
    await schedules.remove(schedule.id);
    await store.scheduledAgents.remove(schedule.id);
  }
  await haltAll(dispatch, live, 'The runs of this workflow are being halted; repeat the request in a moment');
}

const formatNames = (schedules: { name: string }[]) =>
  schedules.length === 1 ? `The schedule ${schedules[0]?.name}` : `The schedules ${schedules.map(({ name }) => name).join(', ')}`;
