import type { EntryName, Folder } from './folder.ts';

/** Goes from directory to directory below a folder; those on the way to the present one stay open. */
export interface Cursor {
  /** The directory at this path, until the cursor is moved. */
  to(path: EntryName): Promise<Folder>;
  close(): Promise<void>;
}

/** `enter` opens a directory on the way; by default one that exists. */
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
