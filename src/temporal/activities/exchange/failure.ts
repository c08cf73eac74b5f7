import { ApplicationFailure } from '@temporalio/activity';
import { applyFallback, type FallbackState, findNext, formatPlace, sumFailures, toPlace } from '../../../domain/fallback.ts';
import { findReason } from '../../../domain/fallback-reasons.ts';
import { listHostedTools, runsHosted } from '../../../domain/hosted-tools.ts';
import type { ModelFailure } from '../../../domain/model-failure.ts';
import { storable } from '../../../domain/transcript.ts';
import { addUsage, NO_USAGE, toPricing, toUsage } from '../../../domain/usage.ts';
import { createTaskEvents, type NewEvent } from '../../../events/task-events.ts';
import { retryWhileDown, staleAttempt } from '../attempt.ts';
import { listSettingEvents } from '../offered.ts';
import { retryDelay } from '../retries.ts';
import { type ExchangeAttempt, settleReservation } from './attempt.ts';

/** The pause before a fallback is asked, in milliseconds. The engine takes 0 for its own choice. */
const AT_ONCE_MS = 1;

/**
 * Counts a failure of the model. Once it is not asked again, the same statement moves the run to its next fallback. Returns the failure
 * of the attempt, after which the engine makes the next one or fails the run.
 */
export async function noteFailure(
  work: ExchangeAttempt,
  failure: ModelFailure,
  signal: AbortSignal,
): Promise<ApplicationFailure> {
  const { ports, run, pinned, definition, order, position, prices = {}, reservation } = work;
  const { code, answer } = failure;
  const message = storable(failure.message);
  const { final, delay_ms } = retryDelay(failure, { errors: run.errors, most_ms: ports.longest_wait_ms });
  const left = { position, at: run.fallback, step: order.step, failure: { code, message, reason: findReason(failure) } };
  const next = final ? findNext(pinned, left) : null;
  const { log, usage } = createTaskEvents(run.task_id, ports.now);
  const attempt_usage = answer ? toUsage(answer, toPricing(definition, prices)) : NO_USAGE;
  const wait = `asking again in ${(delay_ms / 1_000).toFixed(1)} s`;
  const retried = log(code === 'rate_limited' ? 'rate_limited' : 'retry', `${message}; ${wait}`, {
    step: order.step,
    error_code: code,
    wait_ms: delay_ms,
  });
  const follows = next ? listSwitchEvents(work, { code, message }, next) : final ? [] : [retried];
  const attempt_note = {
    step: order.step,
    error: message,
    model: answer?.model ?? null,
    fallback: next,
    usage: attempt_usage,
    reservation,
    events: [...(answer ? [usage(addUsage(run, attempt_usage))] : []), ...follows],
  };
  const is_recorded = await retryWhileDown(() => ports.runs.noteError(run, attempt_note), signal);
  if (!settleReservation(work, is_recorded)) return staleAttempt();
  if (next) {
    ports.countFallback(next.reason);
    ports.file_takers.delete(run.task_id);
    return ApplicationFailure.create({ message, type: code, nextRetryDelay: AT_ONCE_MS });
  }
  if (!final) return ApplicationFailure.create({ message, type: code, nextRetryDelay: delay_ms });
  const sum = sumFailures(pinned, left);
  return ApplicationFailure.nonRetryable(sum.message, sum.code);
}

/** Reports where the run goes and why, and which settings and tools the next model is not given. */
function listSwitchEvents(
  { ports, run, pinned, definition, order }: ExchangeAttempt,
  { code, message }: Pick<ModelFailure, 'code' | 'message'>,
  next: FallbackState,
): NewEvent[] {
  const { log } = createTaskEvents(run.task_id, ports.now);
  const now_asked = applyFallback(pinned, next.position);
  const hosted_names = runsHosted(definition.provider) ? listHostedTools(pinned).map(({ name }) => name) : [];
  const reason = `the provider ${definition.provider?.name} runs them, which is not asked`;
  return [
    log('fallback', `${message}; asking ${formatPlace(pinned, next.position)} instead`, {
      step: order.step,
      reason: next.reason,
      error_code: code,
      from: toPlace(definition),
      to: { ...toPlace(now_asked), position: next.position },
    }),
    ...listSettingEvents({ ports, run, definition: now_asked }),
    ...(hosted_names.length > 0 && !runsHosted(now_asked.provider)
      ? [log('tools_not_offered', `${hosted_names.join(', ')}: ${reason}`, { tools: hosted_names, reason })]
      : []),
  ];
}
