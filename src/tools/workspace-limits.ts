import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../main/config.ts';
import type { ToolOutcome } from './source.ts';

interface WorkspaceLimits {
  bytes: number;
  files: number;
}

export const workspaceLimitsOf = ({ WORKSPACE_MB, WORKSPACE_FILES }: Config): WorkspaceLimits => ({
  bytes: WORKSPACE_MB * 1024 ** 2,
  files: WORKSPACE_FILES,
});

interface Size {
  bytes: number;
  files: number;
}

/** The files and bytes of a directory; counting stops at the first exceeded limit. */
async function directorySize(directory: string, limits: WorkspaceLimits, size: Size = { bytes: 0, files: 0 }): Promise<Size> {
  for (const entry of await entriesOf(directory)) {
    if (isOver(size, limits)) return size;
    const path = join(directory, entry.name);
    size.files += 1;
    // A file deleted meanwhile counts as nothing.
    size.bytes += await lstat(path).then(
      ({ blocks }) => blocks * BLOCK,
      () => 0,
    );
    if (entry.isDirectory()) await directorySize(path, limits, size);
  }
  return size;
}

const BLOCK = 512;

const isOver = ({ bytes, files }: Size, limits: WorkspaceLimits) => bytes > limits.bytes || files > limits.files;

/** Makes a directory readable again if a tool removed the permission, so that everything is counted. */
async function entriesOf(directory: string) {
  const read = () => readdir(directory, { withFileTypes: true });
  return read().catch(async () => {
    await chmod(directory, 0o700).catch(() => {});
    return read().catch(() => []);
  });
}

/** Why nothing more may be written; null while the directory is within its limits. */
async function fault(directory: string, limits: WorkspaceLimits): Promise<string | null> {
  const size = await directorySize(directory, limits);
  if (size.files > limits.files)
    return `The workspace holds more than ${limits.files} files (WORKSPACE_FILES); no tool may write in it any more`;
  if (size.bytes > limits.bytes)
    return `The workspace holds more than ${Math.round(limits.bytes / MIB)} MiB (WORKSPACE_MB); no tool may write in it any more`;
  return null;
}

const MIB = 1024 * 1024;

/** A workspace beyond its limits; the message is for the model. */
class WorkspaceFull extends Error {
  override readonly name = 'WorkspaceFull';
}

const FIRST_LOOK_MS = 1_000;
/** Counting a large workspace takes at most this share of the time. */
const SHARE = 10;

interface Guard {
  /** Call with the directory before a tool may write in it. Rejects if it is full. */
  enter(directory: string): Promise<void>;
  /** Aborted if it becomes full while the tool runs. */
  full: AbortSignal;
}

/** A call that may write in a workspace. It is not started if the workspace is full, and is ended with a message if it fills it. */
export async function withinLimits(limits: WorkspaceLimits, work: (guard: Guard) => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const full = new AbortController();
  let entered: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  async function look(directory: string): Promise<void> {
    const started = performance.now();
    const found = await fault(directory, limits);
    if (found) full.abort(new WorkspaceFull(found));
    else if (!ended) timer = setTimeout(look, Math.max(FIRST_LOOK_MS, (performance.now() - started) * SHARE), directory);
  }
  async function enter(directory: string): Promise<void> {
    await look(directory);
    full.signal.throwIfAborted();
    entered = directory;
  }
  try {
    const outcome = await work({ enter, full: full.signal });
    const found = entered && (await fault(entered, limits));
    return found ? { ...outcome, content: `${outcome.content}\n[${found}]`, failed: true } : outcome;
  } catch (error) {
    if (!full.signal.aborted) throw error;
    return { content: (full.signal.reason as WorkspaceFull).message, failed: true };
  } finally {
    ended = true;
    clearTimeout(timer);
  }
}
