import type { ActivityInterceptorsFactory, LogEntry, LogLevel } from '@temporalio/worker';
import { findOutage } from '../../domain/outages.ts';
import { inOneLine } from '../../domain/reason.ts';
import { HALTED, toRunId, toTaskId } from '../names.ts';

/** An entry of the SDK's log in its printed form. If it has an error, the error's stack is printed as well. */
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
 * Formats an entry. A failure caused by a run, a model, a server or the state of the installation becomes one line with its
 * subject and reason. Any other failure is our fault and keeps its stack. A run halted by a person is not a failure. The engine's
 * token for an attempt is omitted, because readers cannot use it.
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

/** True if our code raised the error on purpose, or the installation lacks something. */
function isForeseen(error: unknown): boolean {
  const { name, type, stack = '' } = error as Failure;
  // Errors from the workflow thread come without their type. Its code throws no other failure on purpose.
  if (type === undefined && stack.startsWith('ApplicationFailure')) return true;
  if (name === 'CancelledFailure' || findOutage(error)) return true;
  return name === 'ApplicationFailure' && typeof type === 'string' && type !== 'internal' && !NATIVE.test(type);
}

/** The SDK gives an error that our code has not converted its class name as type. */
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
