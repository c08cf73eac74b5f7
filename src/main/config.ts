import type { z } from 'zod';
import type { RoleSettings } from '../identity/roles.ts';
import type { Role } from '../temporal/names.ts';
import { Environment } from './variables.ts';

export type Config = z.output<typeof Environment>;

/** True if a worker has only the role of tool calls. */
export const onlyCallsTools = ({ WORKER_ROLE }: Config): boolean => WORKER_ROLE.every((role) => role === 'tools');

/** True if this process, as a worker, has the role; processes that are not workers have the rights of all roles. */
export const hasRole = ({ WORKER_ROLE }: Config, role: Role): boolean => WORKER_ROLE.includes(role);

export const toRoleSettings = (config: Config): RoleSettings => ({
  administrators: config.ADMIN_SUBJECTS,
  editors: config.EDITOR_SUBJECTS,
  viewers: config.VIEWER_SUBJECTS,
  others: config.DEFAULT_ROLE,
});

/** True if the standard variables turn traces on. */
export function isTraced(config: Config): boolean {
  if (config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return false;
  const endpoint = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  return config.OTEL_TRACES_EXPORTER === 'otlp' || endpoint !== undefined;
}

/**
 * Parses the environment; no other code reads it. An empty variable counts as unset. Throws an error with a sentence for each
 * invalid variable.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = Environment.safeParse(set);
  if (result.success) return result.data;
  const { issues } = result.error;
  throw new Error(issues.map((issue) => describeIssue(issue, set[String(issue.path[0])])).join('\n'));
}

/** Settings whose value is or may contain a secret. */
const HIDDEN = /KEY|SECRET|TOKEN/;

/** Hides what is before the last @: a password that is not encoded may contain one, or a slash. */
function hidePassword(url: string): string {
  const [start, end] = [url.indexOf('//'), url.lastIndexOf('@')];
  return start >= 0 && end > start ? `${url.slice(0, start)}//…${url.slice(end)}` : url;
}

function describeIssue(issue: z.core.$ZodIssue, value: string | undefined): string {
  const name = String(issue.path[0]);
  if (value === undefined) return `${name} is not set: expected ${describeExpectation(issue)}`;
  const setting_text = HIDDEN.test(name) ? name : `${name}=${hidePassword(value)}`;
  return `${setting_text} is not valid: expected ${describeExpectation(issue)}`;
}

function describeExpectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' ? 'a whole number' : `a ${issue.expected}`;
    case 'too_small':
      return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `at most ${issue.maximum}`;
    case 'invalid_value':
      return issue.values.join(', ');
    case 'invalid_format':
      return issue.format === 'url' ? 'a URL such as https://host.example' : issue.message;
    default:
      return issue.message;
  }
}

/** True if the log consists of JSON lines: as LOG_FORMAT sets it, otherwise in production, but not on a terminal. */
export function isJsonLog(
  { LOG_FORMAT, NODE_ENV }: NodeJS.ProcessEnv = process.env,
  { isTTY }: { isTTY?: boolean } = process.stderr,
): boolean {
  return LOG_FORMAT ? LOG_FORMAT === 'json' : NODE_ENV === 'production' && !isTTY;
}

/** True if failures are shown with their stack, even if the configuration itself failed. */
export const isDebugging = (env: NodeJS.ProcessEnv = process.env): boolean => env.LOG_LEVEL === 'debug';
