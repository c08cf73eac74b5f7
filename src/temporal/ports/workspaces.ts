import type { PinnedRepository, WorkspaceOwner } from '../../domain/definition.ts';
import { repositoryDestination } from '../../domain/destinations.ts';
import type { SharedServices } from '../../main/core.ts';
import { type CheckoutOrder, checkouts } from '../../tools/checkout.ts';
import { type Workspaces, workspaces, workspacesOf } from '../../tools/workspaces.ts';

interface RunWorkspaces extends Pick<Workspaces, 'remove' | 'kept'> {
  /** The run's directory with its repository; `commit` if it was checked out by this call. Throws a sentence if the checkout fails. */
  open(run: WorkspaceOwner, signal: AbortSignal): Promise<{ directory: string; commit: string | null }>;
}

export function runWorkspaces({ store, egress, setting: { config } }: SharedServices): RunWorkspaces {
  const kept = workspaces(workspacesOf(config));
  const checkout = checkouts({
    rules: egress.configuration.rules,
    path: config.PATH,
    ca_file: config.REPO_CA_FILE,
    max_files: config.REPO_MAX_FILES,
    max_bytes: config.REPO_MAX_MB * 1024 ** 2,
  });

  async function orderOf(
    { owner: principal, task_id, workflow }: WorkspaceOwner,
    { url, branch, token_name }: PinnedRepository,
  ): Promise<Omit<CheckoutOrder, 'into'>> {
    if (!token_name) return { url, branch, token: null };
    const destination = repositoryDestination(workflow, url);
    return { url, branch, token: await store.tokens.open({ name: token_name, principal, destination, task_id }) };
  }

  return {
    remove: kept.remove,
    kept: kept.kept,
    async open(run, signal) {
      const { repository } = run;
      if (!repository) return { directory: await kept.of(run.task_id), commit: null };
      let commit: string | null = null;
      const directory = await kept.of(run.task_id, async (into) => {
        ({ commit } = await checkout({ ...(await orderOf(run, repository)), into }, signal));
      });
      return { directory, commit };
    },
  };
}
