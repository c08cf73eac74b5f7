import * as anthropic from '@anthropic-ai/sdk';
import * as openai from 'openai';
import { ModelFailure } from '../domain/model-failure.ts';
import { ANSWER_TOO_LARGE, findOutsideRefusal } from '../domain/outside.ts';
import { getReason, innermost, sentenceOfError } from '../domain/reason.ts';
import { parseRetryAfter } from '../domain/retry-after.ts';
import type { Answered } from '../domain/usage.ts';
import { ReportedError, readPassedError, type VendorError } from './vendor-errors.ts';
import {
  findNamedWindow,
  isExhaustedQuota,
  isFiltered,
  isLoading,
  isOverlong,
  isRefusedKey,
  isThrottled,
  isUnknownModel,
  isUnreadable,
} from './vendor-words.ts';

const TOO_MANY = 429;
const RECOVERABLE = [408, 409, TOO_MANY];
const SERVER_ERRORS = 500;

/**
 * True if a provider that answered with this status may be asked again. An error within a stream may have no status: the request
 * itself was accepted. How often it is asked again: src/temporal/activities/retries.ts.
 */
const isRecoverable = (status: number | undefined): boolean =>
  status === undefined || RECOVERABLE.includes(status) || status >= SERVER_ERRORS;

/** Node's messages for a connection that ended before the answer did. */
const CUT = /terminated|other side closed|socket hang up|ECONNRESET|EPIPE|UND_ERR_SOCKET|Premature close|ERR_HTTP2_STREAM/i;

interface Asked {
  /** What was asked for. */
  expected?: string;
  /** Advice about a refusal, by its code. */
  advice?: Record<string, string>;
  /** The subject of the sentences. */
  who?: string;
}

const isAny = (error: unknown, kinds: readonly (abstract new (...values: never[]) => unknown)[]) =>
  kinds.some((kind) => error instanceof kind);

/** Turns an error of a provider's client into a ModelFailure with the provider's message. A ModelFailure passes unchanged. */
export function toModelFailure(error: unknown, asked: Asked = {}): unknown {
  const { expected = 'a chat completion', advice = ADVICE, who = "The model's endpoint" } = asked;
  const failure = findRefusedFailure(error);
  if (failure) return failure;
  if (error instanceof ReportedError)
    return toRefusal(
      {
        fault: error.fault,
        headers: error.headers,
        status: error.fault.status ?? findNamedStatus(error.fault),
        is_refused: false,
      },
      { advice, who },
    );
  if (isAny(error, [openai.APIConnectionTimeoutError, anthropic.APIConnectionTimeoutError]))
    return new ModelFailure(`${who} did not answer in time`, { code: 'model_timeout', recoverable: true });
  if (isAny(error, [openai.APIConnectionError, anthropic.APIConnectionError])) return toConnectionFailure(error as Error, who);
  if (isAny(error, [openai.APIError, anthropic.APIError])) {
    const { status, headers, error: body, message } = error as openai.APIError;
    return toRefusal(
      { fault: readPassedError(body ?? message), status, headers, is_refused: status !== undefined },
      { advice, who },
    );
  }
  if (error instanceof TypeError && CUT.test(`${error.message} ${getReason(error)}`))
    return createCutFailure('The model broke off its answer');
  if (isAny(error, MALFORMED)) {
    const message = `${who} sent something that is not ${expected}: ${sentenceOfError(error)}`;
    // A line that is not valid JSON may have been cut in transit; a wrong shape would be repeated.
    return new ModelFailure(message, { code: 'bad_model_response', recoverable: error instanceof SyntaxError });
  }
  return error;
}

const MALFORMED = [SyntaxError, TypeError, RangeError, openai.OpenAIError, anthropic.AnthropicError];

export const createCutFailure = (message: string) => new ModelFailure(message, { code: 'model_stream_cut', recoverable: true });

function toConnectionFailure(error: Error, who: string): ModelFailure {
  const reason = getReason(error);
  if (isDenied(error)) return new ModelFailure(reason, { code: 'egress_denied', recoverable: false });
  const { code = '' } = innermost(error) as { code?: string };
  if (CUT.test(`${code} ${reason}`)) return createCutFailure(`${who} closed the connection before it answered: ${reason}`);
  return new ModelFailure(`${who} cannot be reached: ${reason}`, { code: 'model_unreachable', recoverable: true });
}

export const noModel = () =>
  new ModelFailure('No model is named by the workflow, the agent or the provider; set one of them', {
    code: 'no_model',
    recoverable: false,
  });

/** Returns an earlier failure unchanged, or a failure for the refused part of an `answer`; null for any other error. */
export function findRefusedFailure(error: unknown, answer?: Answered): ModelFailure | null {
  if (error instanceof ModelFailure) return error;
  const refusal = findOutsideRefusal(error);
  if (!refusal) return null;
  if (refusal.code !== ANSWER_TOO_LARGE)
    return new ModelFailure(refusal.message, { code: refusal.code, recoverable: false, answer });
  return new ModelFailure(`The model's endpoint sent too much: ${refusal.message}`, {
    code: 'model_answer_too_large',
    recoverable: false,
    answer,
  });
}

/** The statuses that vendors' names of errors stand for, within an answer that has none. */
const NAMED_STATUSES: [RegExp, number][] = [
  [/invalid_?request|bad_?request|invalid_?argument|validation|context_length/, 400],
  [/authentication|unauthenticated|unauthorized|invalid_api_key/, 401],
  [/permission|forbidden/, 403],
  [/not_?found/, 404],
  [/rate_?limit|too_many_requests|resource_exhausted/, TOO_MANY],
];

const findNamedStatus = ({ names }: VendorError): number | undefined =>
  NAMED_STATUSES.find(([word]) => names.some((name) => word.test(name)))?.[1];

interface Refusal {
  fault: VendorError;
  status: number | undefined;
  headers: Headers | undefined;
  /** True if the request was refused, instead of answered with an error. */
  is_refused: boolean;
}

function toRefusal(
  { fault, status, headers, is_refused }: Refusal,
  { advice, who }: { advice: typeof ADVICE; who: string },
): ModelFailure {
  const retry_after_ms = parseRetryAfter(headers) ?? fault.retry_after_ms;
  const code = findCode({ ...fault, retry_after_ms }, status);
  const named_status = is_refused ? `${status} ` : '';
  // Only a request that was refused has waited for the model.
  const is_loading = code === 'model_loading' && !is_refused;
  const advised = advice[code] && !is_loading ? `; ${advice[code]}` : '';
  return new ModelFailure(`${who} answered: ${named_status}${fault.message}${advised}`, {
    code,
    recoverable: is_loading || isUnreadable(fault) || code === 'rate_limited' || (!FINAL.includes(code) && isRecoverable(status)),
    retry_after_ms,
    status,
    ...(code === 'context_window_full' ? { context_window: findNamedWindow(fault) } : {}),
  });
}

/** Refusals that another attempt would repeat. A model that loads was waited for already. */
const FINAL = ['quota_exhausted', 'context_window_full', 'model_loading', 'content_filter'];

const CODES: Record<number, string> = {
  401: 'model_unauthorized',
  402: 'quota_exhausted',
  403: 'model_unauthorized',
  404: 'unknown_model',
  [TOO_MANY]: 'rate_limited',
};

/** The codes of refusals whose words count more than their status. */
const WORDED: [(fault: VendorError, status: number | undefined) => boolean, string][] = [
  [isThrottled, 'rate_limited'],
  [isOverlong, 'context_window_full'],
  [isLoading, 'model_loading'],
  [isFiltered, 'content_filter'],
  [isRefusedKey, 'model_unauthorized'],
  [isUnknownModel, 'unknown_model'],
];

function findCode(fault: VendorError, status: number | undefined): string {
  if (isExhaustedQuota(fault, status)) return 'quota_exhausted';
  return WORDED.find(([isMeant]) => isMeant(fault, status))?.[1] ?? CODES[status ?? 0] ?? 'model_error';
}

export const ADVICE: Record<string, string> = {
  model_unauthorized: "check the provider's stored key",
  unknown_model: 'check base_url and the name of the model or deployment',
  context_window_full: 'shorten what the model is given, or lower max_output_tokens',
  quota_exhausted: 'its quota or credit is used up; add credit at the vendor, or use another key',
  model_loading: 'it did not load its model within a minute; try again later',
};

/** True if the guarded fetch refused to connect; a retry would be refused too. */
const isDenied = (error: Error) => (innermost(error) as { code?: string }).code === 'EGRESS_DENIED';
