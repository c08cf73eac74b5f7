import { mkdir, mkdtemp, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../folders/remove.ts';

/** A directory for each run, under one parent. */
export interface Workspaces {
  /** The run's directory. If there is none, it is made and filled; if filling fails, it is removed. */
  of(task_id: string, fill?: (directory: string) => Promise<void>): Promise<string>;
  remove(task_id: string): Promise<void>;
  /** Ids of the runs that have one. */
  kept(): Promise<string[]>;
}

/** The working directories of runs. */
export const toWorkspacesPath = ({ PERDURA_HOME }: { PERDURA_HOME: string }) => join(PERDURA_HOME, 'workspaces');

const DRAFT = '.draft-';

export function createWorkspaces(parent: string): Workspaces {
  return {
    async of(task_id, fill) {
      const directory = join(parent, task_id);
      await mkdir(parent, { recursive: true, mode: 0o711 });
      if (!fill) {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        return directory;
      }
      if (await exists(directory)) return directory;
      const draft = await mkdtemp(join(parent, `${DRAFT}${task_id}-`));
      try {
        await fill(draft);
        // If two calls make it at once, the first one's stays.
        await rename(draft, directory).catch(async (error) => {
          if (!(await exists(directory))) throw error;
        });
        return directory;
      } finally {
        await removeFolder(draft);
      }
    },
    remove: (task_id) => removeFolder(join(parent, task_id)),
    kept: async () => (await readdir(parent).catch(() => [])).filter((name) => !name.startsWith(DRAFT)),
  };
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
