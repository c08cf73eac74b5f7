import { type Definition, isVendor } from '../../../domain/definition.ts';
import type { SelectedRuntime } from '../../../runtimes/select.ts';
import type { OpenRun } from '../../../store/runs/runs.ts';
import type { Settle } from '../../../temporal/start/settle.ts';
import type { SharedServices } from '../../core.ts';

interface SessionPorts {
  definition(hash: string): Promise<Definition>;
  openRuntime(run: OpenRun, definition: Definition): Promise<SelectedRuntime>;
}

/** How long the end of a session may take, in milliseconds. The lane of a workflow is released only afterwards. */
const PATIENCE_MS = 4_000;

/** Ends the sessions that model providers keep for ended runs. */
export function runSessions({ store, log }: Pick<SharedServices, 'store' | 'log'>, { definition, openRuntime }: SessionPorts) {
  async function end(task_id: string, pinned_definition: Definition): Promise<void> {
    const run = await store.runs.open(task_id, 0);
    // A task that never began has no session.
    if (!run?.started_at) return;
    const { runtime } = await openRuntime(run, pinned_definition);
    const { cursor, started_at } = run;
    await runtime.end?.({ task_id, cursor, started_at }, AbortSignal.timeout(PATIENCE_MS));
    if (cursor !== null) await store.cursors.forget(task_id);
  }

  /** Ends one session. `away` holds the providers that did not answer; they are not tried again. */
  async function endSession(task_id: string, definition_hash: string, away = new Set<string>()): Promise<void> {
    try {
      const pinned_definition = await definition(definition_hash);
      const { provider } = pinned_definition;
      if (!provider || !isVendor(provider) || away.has(provider.id)) return;
      await end(task_id, pinned_definition).catch(async (error: Error) => {
        away.add(provider.id);
        log(`The provider's session of the task ${task_id} could not be ended yet: ${error.message}`);
        await store.cursors.leave(task_id);
      });
    } catch (error) {
      log(`The session of the task ${task_id} was not ended: ${(error as Error).message}`);
    }
  }

  return {
    endSession: (task_id: string, definition_hash: string) => endSession(task_id, definition_hash),
    /** Like `settle`, and also ends the session of the run, which may have been lost. */
    ending:
      (settle: Settle): Settle =>
      async (task_id, outcome) => {
        const settlement = await settle(task_id, outcome);
        if (settlement.definition_hash) await endSession(task_id, settlement.definition_hash);
        return settlement;
      },
    /** Ends sessions that are left over because a run was lost or its provider was unreachable. */
    async endLeft(): Promise<void> {
      const away = new Set<string>();
      for (const { task_id, definition_hash } of await store.cursors.open()) await endSession(task_id, definition_hash, away);
    },
  };
}
