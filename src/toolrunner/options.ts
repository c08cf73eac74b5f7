import type { Limits, Tier, User } from './settings.ts';

export interface ToolRunnerOptions {
  /** The tools' interpreter; their packages are its packages. Default `python3`. */
  python?: string;
  /** Wall clock of one call, from the moment a process takes it. Default 30 s. */
  timeout_ms?: number;
  /**
   * `auto`: the strongest confinement that works here; without any, no tool runs. `strict`: namespaces, or no tool runs.
   * `none`: a fresh process per call and no confinement at all.
   */
  isolation?: 'auto' | 'strict' | 'none';
  /** Packages imported once, before any call. */
  preload?: string[];
  log?: (line: string) => void;
  /** The directory of the runner's sockets and private directories; default: the system's temporary directory. */
  scratch_dir?: string;
  /** The directory whose subdirectories calls may be given as workspaces. Without it no confined call has one. */
  workspaces?: string;
  /** Paths of the host that commands may be given, with `:rw` for those they may write, and paths they never get. Default: none. */
  host_paths?: { allow: readonly string[]; closed: readonly string[] };
  /** Addresses outside the public internet that tools with network access may reach; see `egressRules`. */
  egress_allow?: readonly string[];
  /** Ports of this machine that only an entry with that exact port allows. */
  own_ports?: ReadonlySet<number>;
  /** The number of calls that run at once; more wait. Default 16. */
  max_concurrent?: number;
  /** The number of confined processes kept ready. Default 4. */
  prefork?: number;
  limits?: Partial<Limits>;
  /** Tries only this tier; for tests and for finding out why another is unavailable. */
  tier?: Tier;
  /** Runs the sandbox as another user. The service must then be root, and that user must be able to read the interpreter. */
  run_as?: User;
  /** Simulates an older kernel; for tests. */
  landlock_level?: number;
}
