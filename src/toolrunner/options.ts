import type { Limits, Tier, User } from './settings.ts';

export interface ToolRunnerOptions {
  /** The tools' interpreter; their packages are its packages. Default `python3`. */
  python?: string;
  /** Wall clock of one call, from the moment a process takes it. Default 30 s. */
  timeout_ms?: number;
  /**
   * `auto`: the strongest confinement that works here, or none of the tools runs. `strict`: namespaces or nothing.
   * `none`: a fresh process per call and no confinement at all.
   */
  isolation?: 'auto' | 'strict' | 'none';
  /** Packages imported once, before any call. */
  preload?: string[];
  log?: (line: string) => void;
  /** Where the runner keeps its sockets and private directories; default the system's temporary directory. */
  scratch_dir?: string;
  /** The directory whose subdirectories calls may be given as workspaces. Without it no confined call has one. */
  workspaces?: string;
  /** Paths of the host that commands may be given, `:rw` at the end of those they may write, and what they never are. Default: none. */
  host_paths?: { allow: readonly string[]; closed: readonly string[] };
  /** Addresses beyond the public internet that tools with network access may reach; see `egressRules`. */
  egress_allow?: readonly string[];
  /** Ports of this machine that only an entry with that very port opens. */
  own_ports?: ReadonlySet<number>;
  /** Calls at once; more wait. Default 16. */
  max_concurrent?: number;
  /** Confined processes kept ready. Default 4. */
  prefork?: number;
  limits?: Partial<Limits>;
  /** Only this tier is tried; for tests and for finding out why another is not available. */
  tier?: Tier;
  /** The sandbox as another user than the service, which must then be root; the interpreter must be readable to it. */
  run_as?: User;
  /** Pretends an older kernel; for tests. */
  landlock_level?: number;
}
