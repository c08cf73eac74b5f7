import type { ReconciledTasks } from '../../../src/temporal/activities/reconciled-tasks.ts';
import { reconcile } from '../../../src/temporal/repair/reconcile-tasks.ts';
import type { TestInstallation } from '../installation.ts';

/** Compares tasks with the engine as the reconciler would later: after a minute, no message is in transit any more. */
export function compareIn(
  { core: { store }, driver: { engine, settle } }: TestInstallation,
  ms: number,
): Promise<ReconciledTasks> {
  const definition = (hash: string) => store.definitions.get(hash);
  return reconcile({ store, engine, settle, definition, now: () => new Date(Date.now() + ms) });
}
