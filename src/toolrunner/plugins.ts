import { readdir, readFile } from 'node:fs/promises';

interface Plugin {
  /** The name of the file without its extension, which is the name of its function. */
  name: string;
  source: string;
}

const FOLDER = new URL('./plugins/', import.meta.url);

/** Lists the tools that come with the installation, by name. They follow the same rules as users' tools. */
export async function listPlugins(): Promise<Plugin[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.py')).sort();
  return Promise.all(
    files.map(async (file) => ({ name: file.slice(0, -3), source: await readFile(new URL(file, FOLDER), 'utf8') })),
  );
}
