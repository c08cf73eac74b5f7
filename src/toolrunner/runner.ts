/** One call of a Python tool: everything the interpreter receives. */
export interface ToolRun {
  /** The tool's name, which is the name of the single function in `source`. */
  name: string;
  source: string;
  arguments: Record<string, unknown>;
  /** Resolved environment variables of this one call; may hold secrets. */
  env: Record<string, string>;
  /** Stable key of the call, handed to the tool as `PERDURA_CALL_KEY`. */
  call_key: string;
  /** Directory of the run, handed to the tool as `PERDURA_WORKSPACE`. */
  workspace?: string;
  /** True if the tool may reach the network; false unless its file requests it. */
  network?: boolean;
}

export interface ToolAnswer {
  /** JSON text of the return value: a dict as is, another value under `result`, a failure under `error`. */
  result: string;
  /** Null if the tool returned; otherwise the reason (raised, timed out, crashed). */
  error: string | null;
  duration_ms: number;
  /** The tool's printed output, at most 64 KiB each. */
  stdout: string;
  stderr: string;
}

/** The declarations of a tool file, found without executing it. */
export interface Inspection {
  valid: boolean;
  /** One sentence with line and column when `valid` is false. */
  error: string | null;
  /** `{type: 'object', properties, required}`; an empty object schema when not valid. */
  inferred_schema: Record<string, unknown>;
  /** Summary of the docstring, or ''. */
  description: string;
  /** Module constant `ENV`: the purpose of each variable, by its name. */
  env: Record<string, string>;
  /** Module constant `EFFECT`: 'read' | 'idempotent' | 'write', or null when not declared. */
  effect: 'read' | 'idempotent' | 'write' | null;
  /** Module constant `NETWORK`; null if the file does not declare it: then the tool has no network. */
  network: boolean | null;
  /** Top-level packages the file imports. */
  imports?: string[];
  /** Type hints that got no schema, with the reason. */
  warnings?: string[];
}

export interface ToolRunner {
  /** Inspects a tool file without executing any of it. */
  inspect(name: string, source: string): Promise<Inspection>;
  /** Runs a tool in a separate process. Its failures are in the answer; an abort kills its process tree and rejects with the signal's reason. */
  run(call: ToolRun, signal: AbortSignal): Promise<ToolAnswer>;
  /** The confinement in force, for health and logs: `namespaces`, `landlock`, `process`. */
  readonly isolation: string;
  close(): Promise<void>;
}
