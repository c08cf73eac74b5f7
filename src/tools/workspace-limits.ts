import { measureFolder } from '../folders/measure.ts';
import type { ToolOutcome } from './source.ts';

interface WorkspaceLimits {
  bytes: number;
  files: number;
}

export const toWorkspaceLimits = ({
  WORKSPACE_MB,
  WORKSPACE_FILES,
}: {
  WORKSPACE_MB: number;
  WORKSPACE_FILES: number;
}): WorkspaceLimits => ({
  bytes: WORKSPACE_MB * 1024 ** 2,
  files: WORKSPACE_FILES,
});

/** Returns the reason why nothing more may be written; null while the directory is within its limits. */
async function findFault(directory: string, limits: WorkspaceLimits): Promise<string | null> {
  const { files, bytes, unmeasured } = await measureFolder(directory, limits);
  if (unmeasured) return `The workspace cannot be measured: ${unmeasured}; no tool may write in it any more`;
  if (files > limits.files)
    return `The workspace holds more than ${limits.files} files (WORKSPACE_FILES); no tool may write in it any more`;
  if (bytes > limits.bytes)
    return `The workspace holds more than ${Math.round(limits.bytes / MIB)} MiB (WORKSPACE_MB); no tool may write in it any more`;
  return null;
}

const MIB = 1024 * 1024;

/** A workspace exceeds its limits. The message is for the model. */
class WorkspaceFull extends Error {
  override readonly name = 'WorkspaceFull';
}

const FIRST_LOOK_MS = 1_000;
/** The pause after a measurement, in multiples of its duration, so that counting a large workspace takes little of the time. */
const PAUSE_FACTOR = 10;

interface Guard {
  /** Checks the directory before a tool may write in it. Rejects if it is full. */
  enter(directory: string): Promise<void>;
  /** Aborted if the workspace becomes full while the tool runs. */
  full: AbortSignal;
}

/**
 * Runs a call that may write in a workspace. The call is not started if the workspace is full, and is ended with a message if
 * it fills it.
 */
export async function runWithinLimits(
  limits: WorkspaceLimits,
  work: (guard: Guard) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const full = new AbortController();
  let entered: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  function lookLater(directory: string, took_ms: number): void {
    if (ended) return;
    timer = setTimeout(() => void lookAgain(directory), Math.max(FIRST_LOOK_MS, took_ms * PAUSE_FACTOR));
  }
  /** Checks the size again. If the service cannot look now, for instance because it has no descriptors left, it looks later. */
  async function lookAgain(directory: string): Promise<void> {
    const started = performance.now();
    const fault = await findFault(directory, limits).catch(() => null);
    if (fault) full.abort(new WorkspaceFull(fault));
    else lookLater(directory, performance.now() - started);
  }
  async function enter(directory: string): Promise<void> {
    const started = performance.now();
    const fault = await findFault(directory, limits);
    if (fault) full.abort(new WorkspaceFull(fault));
    full.signal.throwIfAborted();
    entered = directory;
    lookLater(directory, performance.now() - started);
  }
  try {
    const outcome = await work({ enter, full: full.signal });
    // What the call has written counts even if the service cannot look now: the next call is not started before it can.
    const fault = entered && (await findFault(entered, limits).catch(() => null));
    return fault ? { ...outcome, content: `${outcome.content}\n[${fault}]`, failed: true } : outcome;
  } catch (error) {
    if (!full.signal.aborted) throw error;
    return { content: (full.signal.reason as WorkspaceFull).message, failed: true };
  } finally {
    ended = true;
    clearTimeout(timer);
  }
}
