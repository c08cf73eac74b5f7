import { randomBytes } from 'node:crypto';
import { access, chmod, link, mkdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Logs one line, given without a line feed. */
export type Log = (line: string) => void;

/**
 * Returns the text of a file that is written once and never changes. If two processes write it at once, both get the first
 * one's text.
 */
export async function keepFile(file: string, make: () => string): Promise<{ text: string; created: boolean }> {
  const created = !(await exists(file)) && (await createWhole(file, `${make()}\n`));
  const text = (await readFile(file, 'utf8')).trim();
  if (!text) throw new Error(`${file} is empty. Restore it from a backup, or delete it so that a new one is created.`);
  if ((await stat(file)).mode & 0o077) await chmod(file, 0o600);
  return { text, created };
}

/** Creates a file with its whole content in one step. Returns false if the file exists. */
export async function createWhole(file: string, text: string): Promise<boolean> {
  const draft = await writeDraft(file, text);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Replaces a file in one step, so that a crash leaves either the old text or the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await rename(await writeDraft(file, text), file);
}

async function writeDraft(file: string, text: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, text, { mode: 0o600 });
  return draft;
}

export async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads a JSON file. A file from an older version, or one torn by a crash, counts as missing. */
export async function readJsonFile<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse((await readIfExists(file)) ?? 'null') ?? undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Returns the last lines of a server's log, for the error message if it does not start. */
export async function readTail(file: string, lines: number): Promise<string> {
  return ((await readIfExists(file)) ?? '').trimEnd().split('\n').slice(-lines).join('\n');
}

/** Keeps an append-only log from filling the disk. Call it only while nothing writes to the log. */
export async function trimLog(file: string, limit_bytes = 8 << 20): Promise<void> {
  if ((await exists(file)) && (await stat(file)).size > limit_bytes) await truncate(file);
}
