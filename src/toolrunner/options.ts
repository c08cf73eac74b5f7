import type { Limits, Tier, User } from './settings.ts';

export interface ToolRunnerOptions {
  /** The tools' interpreter, whose packages they use; by default `python3`. */
  python?: string;
  /** The time limit of one call, from the moment a process takes it; by default 30 s. */
  timeout_ms?: number;
  /**
   * `auto`: the strongest confinement that works here; without any, no tool runs. `strict`: namespaces, or no tool runs.
   * `none`: a fresh process per call and no confinement at all.
   */
  isolation?: 'auto' | 'strict' | 'none';
  /** Packages imported once, before any call. */
  preload?: string[];
  log?: (line: string) => void;
  /** The directory of the runner's sockets and private directories; by default the system's temporary directory. */
  scratch_dir?: string;
  /** The directory whose subdirectories calls may be given as workspaces. If it is not set, no confined call has a workspace. */
  workspaces?: string;
  /**
   * The host paths that commands may be given, with `:rw` for writable ones, and the paths that they never get; by default
   * none.
   */
  host_paths?: { allow: readonly string[]; closed: readonly string[] };
  /** Addresses outside the public internet that tools with network access may reach; see `egressRules`. */
  egress_allow?: readonly string[];
  /** Ports of this machine that only an entry with that exact port allows. */
  own_ports?: ReadonlySet<number>;
  /** The most calls that run at once; others wait. By default 16. */
  max_concurrent?: number;
  /** The number of confined processes that are kept ready; by default 4. */
  prefork?: number;
  limits?: Partial<Limits>;
  /** The only tier to try; for tests, and for finding out why another is unavailable. */
  tier?: Tier;
  /** The user of the sandbox. The service must then be root, and that user must be able to read the interpreter. */
  run_as?: User;
  /** The Landlock version of an older kernel to simulate; for tests. */
  landlock_level?: number;
}
