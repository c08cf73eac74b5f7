import type { EntryName, Folder } from './folder.ts';

/** Moves from directory to directory below a folder. The directories on the path to the current one stay open. */
export interface Cursor {
  /** Returns the directory at this path. It is valid until the next move. */
  to(path: EntryName): Promise<Folder>;
  close(): Promise<void>;
}

/** Creates a cursor. `enter` opens each directory on the path; by default it must exist. */
export function createCursor(root: Folder, enter = (folder: Folder, name: EntryName) => folder.enter(name)): Cursor {
  const way: { name: EntryName; folder: Folder }[] = [];
  const here = () => way.at(-1)?.folder ?? root;

  async function back(levels: number): Promise<void> {
    while (way.length > levels) await way.pop()!.folder.close();
  }

  return {
    async to(path) {
      const names = path === '' ? [] : path.split('/');
      const same = names.findIndex((name, level) => way[level]?.name !== name);
      await back(same === -1 ? names.length : same);
      for (const name of names.slice(way.length)) way.push({ name, folder: await enter(here(), name) });
      return here();
    },
    close: () => back(0),
  };
}
