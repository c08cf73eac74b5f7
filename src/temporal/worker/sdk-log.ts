import type { ActivityInterceptorsFactory, LogEntry, LogLevel } from '@temporalio/worker';
import { findOutage } from '../../domain/outages.ts';
import { inOneLine } from '../../domain/reason.ts';
import { HALTED, toRunId, toTaskId } from '../names.ts';

/** An entry of the SDK's log as it is printed. With an error, its stack belongs to it. */
interface ShownEntry {
  message: string;
  level: LogLevel;
  fields: { task_id?: string; [field: string]: unknown };
  error?: unknown;
}

interface Failure {
  name?: string;
  type?: string | null;
  message?: string;
  stack?: string;
}

const FAILED = /^(?:Activity|Workflow) failed$/;

/**
 * A failure that is the result of a run, of a model, of a server or of the installation's state is one line: what failed, and why. Any other
 * is our fault, and keeps its stack. What a person has halted did not fail. The token by which the engine knows an attempt is of no use to a
 * reader.
 */
export function formatEntry({ message, meta, level }: Pick<LogEntry, 'message' | 'meta' | 'level'>): ShownEntry {
  const { error, taskToken: _, workflowId, ...rest } = (meta ?? {}) as Record<string, unknown>;
  const fields = { ...toRunPlace(workflowId), ...rest };
  if (!error) return { message, fields, level };
  if (!FAILED.test(message) || !isForeseen(error)) return { message, fields, level, error };
  const { step, call_id, attempt, activityType } = rest;
  const { type, message: cause = '' } = error as Failure;
  const again = typeof attempt === 'number' && attempt > 1 ? ` (attempt ${attempt})` : '';
  if (type === HALTED)
    return { message: `${describeSubject(rest)} stopped: the run was halted`, fields: buildShortFields(), level: 'INFO' };
  return {
    message: `${describeSubject(rest)} failed${again}: ${type ? `${type}: ` : ''}${inOneLine(cause)}`,
    fields: buildShortFields(),
    level,
  };

  function buildShortFields(): ShownEntry['fields'] {
    const details = { step, call_id, attempt, activityType, error_code: type };
    return { ...toRunPlace(workflowId), ...Object.fromEntries(Object.entries(details).filter(([, value]) => value != null)) };
  }
}

function describeSubject({ step, call_id, activityType }: Record<string, unknown>): string {
  if (call_id !== undefined) return `The call ${call_id}`;
  if (step !== undefined) return `Step ${step}`;
  return activityType === undefined ? 'The workflow' : `The activity ${activityType}`;
}

function toRunPlace(workflowId: unknown): { task_id?: string; workflowId?: unknown } {
  if (typeof workflowId !== 'string') return {};
  const task_id = toTaskId(workflowId);
  return toRunId(task_id) === workflowId ? { task_id } : { workflowId };
}

/** Our code has judged it, or the installation lacks something. */
function isForeseen(error: unknown): boolean {
  const { name, type, stack = '' } = error as Failure;
  // From the thread of workflows an error comes without its type. Its code throws no other failure on purpose.
  if (type === undefined && stack.startsWith('ApplicationFailure')) return true;
  if (name === 'CancelledFailure' || findOutage(error)) return true;
  return name === 'ApplicationFailure' && typeof type === 'string' && type !== 'internal' && !NATIVE.test(type);
}

/** What the SDK makes of an error that nobody has judged has its name. */
const NATIVE = /Error$/;

/** Adds the step or the call of an activity to what the SDK logs about it. */
export const activityPlaces: ActivityInterceptorsFactory = () => {
  let place: { step?: unknown; call_id?: unknown } = {};
  return {
    inbound: {
      execute(input, next) {
        const [, which] = input.args;
        if (typeof which === 'string') place = { call_id: which };
        else if (typeof which === 'object' && which !== null && 'step' in which) place = { step: which.step };
        return next(input);
      },
    },
    outbound: { getLogAttributes: (attributes, next) => next({ ...attributes, ...place }) },
  };
};
