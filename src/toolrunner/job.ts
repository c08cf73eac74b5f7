import { isAbsolute, relative } from 'node:path';
import type { ToolRun } from './runner.ts';
import type { Isolation } from './settings.ts';

/** The job of a tool process. */
export interface Job {
  name: string;
  source: string;
  arguments: Record<string, unknown>;
  env: Record<string, string>;
  header: JobHeader;
}

/** The part of a job that the supervisor reads; it never sees the rest. `Header` on the Python side must match. */
interface JobHeader {
  timeout_ms: number;
  /** The path relative to the directory for workspaces; null without a workspace or without confinement. */
  workspace: string | null;
  network: boolean;
  /** The port of the egress proxy as seen from inside. */
  proxy_port: number;
}

const HEADER_BYTES = 1024;

/** Encodes the job for the wire: a header of fixed length, then JSON. */
export function encodeJob({ header, ...body }: Job): Buffer {
  const bytes = Buffer.from(JSON.stringify(body));
  const head = Buffer.from(JSON.stringify({ ...header, size: bytes.length }));
  if (head.length > HEADER_BYTES) throw new WorkspaceOutside('the path of the workspace is too long');
  return Buffer.concat([head, Buffer.alloc(HEADER_BYTES - head.length, ' '), bytes]);
}

/** The paths of a call, which depend on its tier and permissions. */
export interface Surroundings {
  tier: Isolation;
  timeout_ms: number;
  workspaces: string | null;
  proxy: { port: number; token: string } | null;
}

/**
 * The base environment of a tool: it contains no variable of the service. Numeric libraries get one thread, because threads
 * count as processes.
 */
export const BASE_ENV = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  HOME: '/tmp',
  TMPDIR: '/tmp',
  OMP_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
};

export class WorkspaceOutside extends Error {}

export function toJob(call: ToolRun, surroundings: Surroundings): Job {
  const workspace = call.workspace === undefined ? null : workspaceName(call.workspace, surroundings);
  return {
    name: call.name,
    source: call.source,
    arguments: call.arguments,
    env: {
      ...BASE_ENV,
      ...proxyEnv(surroundings.proxy),
      ...call.env,
      PERDURA_CALL_KEY: call.call_key,
      ...workspaceEnv(call.workspace, surroundings.tier),
    },
    header: {
      timeout_ms: surroundings.timeout_ms,
      workspace,
      network: surroundings.proxy !== null,
      proxy_port: surroundings.proxy?.port ?? 0,
    },
  };
}

/**
 * Returns the workspace's relative path; null if nothing is mounted. Throws `WorkspaceOutside` for a directory outside the one
 * set aside for workspaces.
 */
export function workspaceName(workspace: string, { tier, workspaces }: Pick<Surroundings, 'tier' | 'workspaces'>): string | null {
  if (tier === 'process') return null;
  const name = workspaces === null ? '..' : relative(workspaces, workspace);
  if (name === '' || name.startsWith('..') || isAbsolute(name))
    throw new WorkspaceOutside('the workspace is not below the directory for workspaces');
  return name;
}

export function workspaceEnv(workspace: string | undefined, tier: Isolation): Record<string, string> {
  if (workspace === undefined) return {};
  const place = tier === 'namespaces' ? '/workspace' : workspace;
  // The service may have created the workspace as another user. git must accept it, but no other directory of another user.
  const trusted = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: place };
  return { PERDURA_WORKSPACE: place, GIT_CONFIG_NOSYSTEM: '1', ...trusted };
}

/** Sets the variables by which programs find where to keep their files. */
export const stateEnv = (state: string | undefined): Record<string, string> =>
  state === undefined
    ? {}
    : {
        PERDURA_STATE: state,
        HOME: state,
        XDG_CONFIG_HOME: `${state}/.config`,
        XDG_DATA_HOME: `${state}/.local/share`,
        XDG_STATE_HOME: `${state}/.local/state`,
        XDG_CACHE_HOME: `${state}/.cache`,
      };

/** Sets the proxy variables in every spelling that HTTP clients read. */
export function proxyEnv(proxy: Surroundings['proxy']): Record<string, string> {
  if (!proxy) return {};
  const url = `http://call:${proxy.token}@127.0.0.1:${proxy.port}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  return Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, url]));
}
