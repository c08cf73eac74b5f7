import type { PinnedRepository, WorkspaceOwner } from '../../../domain/definition.ts';
import { repositoryDestination } from '../../../domain/destinations.ts';
import { asLack } from '../../../domain/outages.ts';
import type { OpenCall } from '../../../store/runs/tool-ledger.ts';
import { type CheckoutOrder, checkouts } from '../../../tools/checkout.ts';
import { createS3Store, parseS3Settings, type S3Settings } from '../../../tools/snapshots/object-store.ts';
import { openStoredWorkspaces } from '../../../tools/snapshots/stored-workspaces.ts';
import { createWorkspaces, toWorkspacesPath, type Workspaces } from '../../../tools/workspaces.ts';
import type { Config } from '../../config.ts';
import type { SharedServices } from '../../core.ts';

/** A run's workspace during one call. */
interface HeldWorkspace {
  /** Returns the run's directory with its repository. Throws an error with a readable message if it cannot be created. */
  directory(signal: AbortSignal): Promise<string>;
  /**
   * Ends the call's use of the workspace. When this resolves, the call's changes are stored; with null, the call can have changed
   * nothing.
   */
  release(call: OpenCall | null, signal: AbortSignal): Promise<void>;
}

interface RunWorkspaces extends Pick<Workspaces, 'remove' | 'listIds'> {
  /** Makes the run's directory with its repository; `commit` if this call checked it out. Throws a sentence if that fails. */
  open(run: WorkspaceOwner, signal: AbortSignal): Promise<{ commit: string | null }>;
  hold(run: WorkspaceOwner): HeldWorkspace;
  close(): Promise<void>;
}

type Fill = (into: string) => Promise<void>;

/** The storage of the workspaces of all workers. */
interface Place extends Pick<Workspaces, 'remove' | 'listIds'> {
  enter(task_id: string, fill: Fill | null, signal: AbortSignal): Promise<string>;
  leave(task_id: string, call: OpenCall | null, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export async function runWorkspaces(core: Pick<SharedServices, 'setting' | 'store' | 'egress' | 'log'>): Promise<RunWorkspaces> {
  const { config } = core.setting;
  const s3 = parseS3Settings(config);
  const { enter, leave, ...place } = s3 ? await inObjectStore(core, s3) : inSharedHome(toWorkspacesPath(config));
  const checkOut = createCheckout(core);

  async function enterWorkspace(run: WorkspaceOwner, signal: AbortSignal): Promise<{ directory: string; commit: string | null }> {
    const { repository } = run;
    let commit: string | null = null;
    const fill = async (into: string) => {
      commit = repository && (await checkOut(run, repository, { into, signal }));
    };
    const directory = await enter(run.task_id, repository && fill, signal).catch((error: unknown) => {
      throw asLack(error, 'the workspaces of runs (PERDURA_HOME)');
    });
    return { directory, commit };
  }

  return {
    ...place,
    async open(run, signal) {
      const { commit } = await enterWorkspace(run, signal);
      await leave(run.task_id, null, signal);
      return { commit };
    },
    hold(run) {
      let entry: Promise<{ directory: string }> | null = null;
      return {
        async directory(signal) {
          entry ??= enterWorkspace(run, signal);
          return (await entry).directory;
        },
        async release(call, signal) {
          const inside = await entry?.catch(() => null);
          if (inside) await leave(run.task_id, call, signal);
        },
      };
    },
  };
}

/** Creates the storage in the home, which is one file system for all workers. */
function inSharedHome(parent: string): Place {
  const { openDirectory, remove, listIds } = createWorkspaces(parent);
  return {
    remove,
    listIds,
    enter: (task_id, fill) => openDirectory(task_id, fill ?? undefined),
    leave: async () => {},
    close: async () => {},
  };
}

/** After an abort, what a call has changed is still stored if that takes no longer. */
const LAST_MS = 5_000;

async function inObjectStore(
  { setting, store, egress, log }: Pick<SharedServices, 'setting' | 'store' | 'egress' | 'log'>,
  s3: S3Settings,
): Promise<Place> {
  const { workspaceLayers: record } = store;
  const objects = createS3Store(s3, egress.objects);
  const stored_workspaces = await openStoredWorkspaces({ parent: toWorkspacesPath(setting.config), objects, record, log });
  const unlessDown = (what: string) => (error: Error) => log(`${what}: ${error.message}`);
  return {
    enter: stored_workspaces.enter,
    close: stored_workspaces.close,
    leave(task_id, call, signal) {
      const limit = signal.aborted ? AbortSignal.timeout(LAST_MS) : signal;
      return stored_workspaces.leave(task_id, call && ((layer) => record.add(call, layer)), limit);
    },
    // A run can also end while the store is down; the reconciler removes the rest.
    remove: (task_id) => stored_workspaces.remove(task_id).catch(unlessDown(`The workspace of ${task_id} is not removed yet`)),
    listIds: () =>
      stored_workspaces
        .listIds()
        .catch(unlessDown('Workspaces are not compared with their runs'))
        .then((ids) => ids ?? []),
  };
}

/** Returns what the environment sets of checkouts. */
export const getCheckoutSettings = (config: Config) => ({
  path: config.PATH,
  ca_file: config.REPO_CA_FILE,
  max_files: config.REPO_MAX_FILES,
  max_bytes: config.REPO_MAX_MB * 1024 ** 2,
});

/** Checks out the repository of a run, and returns its commit. */
function createCheckout({ store, egress, setting: { config } }: Pick<SharedServices, 'setting' | 'store' | 'egress'>) {
  const checkout = checkouts({
    rules: egress.configuration.rules,
    ...getCheckoutSettings(config),
  });

  async function buildOrder(
    { owner: principal, task_id, workflow }: WorkspaceOwner,
    { url, branch, token_name }: PinnedRepository,
  ): Promise<Omit<CheckoutOrder, 'into'>> {
    if (!token_name) return { url, branch, token: null };
    const destination = repositoryDestination(workflow, url);
    return { url, branch, token: await store.tokens.open({ name: token_name, principal, destination, task_id }) };
  }

  return async (run: WorkspaceOwner, repository: PinnedRepository, { into, signal }: { into: string; signal: AbortSignal }) => {
    const { commit } = await checkout({ ...(await buildOrder(run, repository)), into }, signal);
    return commit;
  };
}
