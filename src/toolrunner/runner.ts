/** One call of a Python tool: everything the interpreter receives. */
export interface ToolRun {
  /** The tool's name, which is the name of the single function in `source`. */
  name: string;
  source: string;
  arguments: Record<string, unknown>;
  /** The resolved environment variables of this one call; they may contain secrets. */
  env: Record<string, string>;
  /** The stable key of the call, passed to the tool as `PERDURA_CALL_KEY`. */
  call_key: string;
  /** The directory of the run, passed to the tool as `PERDURA_WORKSPACE`. */
  workspace?: string;
  /** True if the tool may reach the network; false unless its file requests it. */
  network?: boolean;
}

export interface ToolAnswer {
  /** The JSON text of the return value: a dict as is, another value under `result`, a failure under `error`. */
  result: string;
  /** The reason why the tool did not return (raised, timed out, crashed); null if it did. */
  error: string | null;
  duration_ms: number;
  /** The tool's printed output, at most 64 KiB each. */
  stdout: string;
  stderr: string;
}

/** The declarations of a tool file, found without executing it. */
export interface Inspection {
  valid: boolean;
  /** One sentence with line and column; null if the file is valid. */
  error: string | null;
  /** `{type: 'object', properties, required}`; an empty object schema if the file is not valid. */
  inferred_schema: Record<string, unknown>;
  /** The summary of the docstring, or ''. */
  description: string;
  /** The module constant `ENV`: the purpose of each variable, by its name. */
  env: Record<string, string>;
  /** The module constant `EFFECT`; null if the file does not declare it. */
  effect: 'read' | 'idempotent' | 'write' | null;
  /** The module constant `NETWORK`; null if the file does not declare it: then the tool has no network. */
  network: boolean | null;
  /** The top-level packages that the file imports. */
  imports?: string[];
  /** The type hints that got no schema, each with the reason. */
  warnings?: string[];
}

export interface ToolRunner {
  /** Inspects a tool file without executing any of it. */
  inspect(name: string, source: string): Promise<Inspection>;
  /**
   * Runs a tool in a separate process. Its failures are in the answer; an abort kills its process tree and rejects with the
   * signal's reason.
   */
  run(call: ToolRun, signal: AbortSignal): Promise<ToolAnswer>;
  /** The confinement in force, for health and logs: `namespaces`, `landlock`, `process`. */
  readonly isolation: string;
  close(): Promise<void>;
}
