import type { HostPath } from './host-paths.ts';

/** The limits of confined processes; sizes in MiB. `Limits` on the Python side must match. */
export interface Limits {
  /** The resident memory of all processes together. */
  memory_mb: number;
  /** The address space of one process; 0 for no limit. */
  address_space_mb: number;
  processes: number;
  open_files: number;
  file_mb: number;
  /** The CPU seconds of one process; 0 for no limit. */
  cpu_s: number;
  /** The private temporary space. */
  tmp_mb: number;
}

export const CALL_LIMITS: Limits = {
  memory_mb: 512,
  address_space_mb: 2048,
  processes: 64,
  open_files: 256,
  file_mb: 64,
  cpu_s: 40,
  tmp_mb: 64,
};

export type Tier = 'namespaces' | 'landlock';
/** The confinement in force: a tier; `process` if the operator chose none; or `refused`: no tool runs. */
export type Isolation = Tier | 'process' | 'refused';

/** The user of confined processes if the service is root. Without namespaces, each sandbox has its own user (see `users.py`). */
export const TOOL_UID = 60_800;
export const TOOL_GID = 60_800;

/** The settings that confined processes receive as their first line. `Setting` on the Python side must match. */
export interface ConfinementSettings {
  tier: Tier | 'process';
  /** The empty directory on which the sealed file system is built. */
  root: string;
  /** The directory for files that calls write, if the kernel cannot give each call its own /tmp. */
  scratch: string;
  read_only: string[];
  /** The checked paths of the host. */
  host_paths: Required<HostPath>[];
  workspaces: string | null;
  egress_socket: string | null;
  uid: number;
  gid: number;
  limits: Limits;
  /** The Landlock version of an older kernel to simulate; for tests. */
  landlock_level: number | null;
}

export interface ZygoteSettings extends ConfinementSettings {
  /** The socket file to listen on. */
  socket: string;
  preload: string[];
  prefork: number;
}

export interface User {
  uid: number;
  gid: number;
}
