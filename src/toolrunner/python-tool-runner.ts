import type { ConfinedCommand, ConfinedProcess } from './confined.ts';
import type { Interpreter } from './interpreter.ts';
import type { ToolRunner } from './runner.ts';
import type { Isolation } from './settings.ts';
/** A `ToolRunner` with information for the operator and with confined commands. */
export interface PythonToolRunner extends ToolRunner {
  readonly isolation: Isolation;
  /** The reason why no stronger tier than `isolation` is in force; '' in the strongest. */
  readonly isolation_reason: string;
  /** The tools' interpreter; null on a machine without Python. */
  readonly interpreter: Pick<Interpreter, 'executable' | 'version'> | null;
  /** Replaces the packages that are imported ahead of calls; running calls are ended. */
  preload(packages: readonly string[]): Promise<void>;
  /** Returns the reason why a path (`/srv/data`, `/srv/data:rw`) cannot be given to a command; null if it can. */
  pathRefusal(path: string): Promise<string | null>;
  /** Starts a command under the rules of a tool call. An abort of the signal, or `close`, ends it. */
  startConfined(command: ConfinedCommand, signal?: AbortSignal): Promise<ConfinedProcess>;
}
