import { mkdir, mkdtemp, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../folders/remove.ts';

/** A directory for each run, under one parent. */
export interface Workspaces {
  /** Returns the run's directory. A missing one is created and filled; if filling fails, it is removed. */
  openDirectory(task_id: string, fill?: (directory: string) => Promise<void>): Promise<string>;
  remove(task_id: string): Promise<void>;
  /** Lists the ids of the runs that have a directory. */
  listIds(): Promise<string[]>;
}

/** Returns the parent of the runs' working directories. */
export const toWorkspacesPath = ({ PERDURA_HOME }: { PERDURA_HOME: string }) => join(PERDURA_HOME, 'workspaces');

const DRAFT = '.draft-';

export function createWorkspaces(parent: string): Workspaces {
  return {
    async openDirectory(task_id, fill) {
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
        // If two calls create it at once, the first one's directory stays.
        await rename(draft, directory).catch(async (error) => {
          if (!(await exists(directory))) throw error;
        });
        return directory;
      } finally {
        await removeFolder(draft);
      }
    },
    remove: (task_id) => removeFolder(join(parent, task_id)),
    listIds: async () => (await readdir(parent).catch(() => [])).filter((name) => !name.startsWith(DRAFT)),
  };
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
