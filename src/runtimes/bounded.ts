import { estimateTokens } from '../domain/context-window.ts';
import type { ExchangeLimits } from '../domain/definition.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import { deltaJoiner, normalReply, storableValue } from '../domain/normalise.ts';
import { getReason } from '../domain/reason.ts';
import { type ByteSource, relayBody } from '../domain/relayed-body.ts';
import { type UsageSoFar, usageSoFar } from '../domain/usage.ts';
import { countRequest, estimateMissing } from './estimated-usage.ts';
import { findRefusedFailure } from './failures.ts';
import type { Fetch } from './reusing-fetch.ts';
import type { Exchange, ModelReply, ModelRuntime } from './runtime.ts';

/** The longest that an exchange may take, and the longest that it may be silent. */
export interface ExchangeDeadlines {
  total_ms: number;
  /** Null if the runtime watches for silence itself. */
  silence_ms: number | null;
}

/** The installation's deadlines. */
export const toDeadlines = (config: { MODEL_TOTAL_SECONDS: number; MODEL_SILENCE_SECONDS: number }): ExchangeDeadlines => ({
  total_ms: config.MODEL_TOTAL_SECONDS * 1_000,
  silence_ms: config.MODEL_SILENCE_SECONDS * 1_000,
});

/** The deadlines with the overrides of a definition. */
export const overrideDeadlines = (deadlines: ExchangeDeadlines, limits: ExchangeLimits | undefined): ExchangeDeadlines => ({
  total_ms: limits?.model_total_seconds ? limits.model_total_seconds * 1_000 : deadlines.total_ms,
  silence_ms: limits?.model_silence_seconds ? limits.model_silence_seconds * 1_000 : deadlines.silence_ms,
});

interface Watch {
  signal: AbortSignal;
  touch(): void;
  end(): void;
}

/**
 * Wraps a runtime: exchanges end in time and fail as a `ModelFailure`, replies are within limits and storable, and the emitted text
 * equals the text of the reply. The runtime must send its requests through `watchFetch`, which notices every byte.
 */
export function exchangeBounds({ total_ms, silence_ms }: ExchangeDeadlines) {
  const watches = new Set<Watch>();
  const touch = () => {
    for (const watch of watches) watch.touch();
  };
  return {
    watchFetch: (fetch: Fetch): Fetch => watchFetch(fetch, touch),
    limitRuntime: (runtime: ModelRuntime): ModelRuntime => ({
      ...runtime,
      async exchange(input, emit, outer) {
        const watch = startWatch({ total_ms, silence_ms }, outer);
        watches.add(watch);
        const { so_far, observed } = observeUsage(input, { is_read_again: runtime.end !== undefined });
        const text = deltaJoiner((delta) => {
          so_far.unreported += delta;
          emit(delta);
        });
        let answer: ModelReply | undefined;
        try {
          const { reply, cursor } = await runtime.exchange(observed, text.push, watch.signal);
          answer = reply;
          text.end();
          return {
            reply: estimateMissing(normalReply(reply), input, reply),
            cursor: storableValue(cursor, 'model_answer_too_large'),
          };
        } catch (error) {
          outer.throwIfAborted();
          const failure = watch.signal.aborted
            ? (watch.signal.reason as ModelFailure)
            : (findRefusedFailure(error, answer) ?? createUnreadableError(error));
          throw estimateCost(failure, input, so_far);
        } finally {
          watches.delete(watch);
          watch.end();
        }
      },
    }),
  };
}

function startWatch({ total_ms, silence_ms }: ExchangeDeadlines, outer: AbortSignal): Watch {
  const own = new AbortController();
  const total = setTimeout(() => own.abort(endless(total_ms)), total_ms);
  const silence = silence_ms === null ? undefined : setTimeout(() => own.abort(silent(silence_ms)), silence_ms);
  return {
    signal: AbortSignal.any([outer, own.signal]),
    touch: () => void silence?.refresh(),
    end() {
      clearTimeout(total);
      clearTimeout(silence);
    },
  };
}

type SoFar = Omit<UsageSoFar, 'request_tokens'>;

/**
 * Returns an exchange that notes its usage. `is_read_again`: the provider keeps what it has reported, and the next attempt reads and counts
 * it again.
 */
function observeUsage(input: Exchange, { is_read_again }: { is_read_again: boolean }): { so_far: SoFar; observed: Exchange } {
  const so_far: SoFar = { reported: null, unreported: '' };
  const observed: Exchange = {
    ...input,
    report(reported) {
      if (!is_read_again) Object.assign(so_far, { reported, unreported: '' });
      input.report?.(reported);
    },
    reportHidden(piece) {
      so_far.unreported += piece;
      input.reportHidden?.(piece);
    },
  };
  return { so_far, observed };
}

/** Adds the usage of a failed answer, as far as its endpoint reported it, and an estimate of the rest. A refused request has no answer. */
function estimateCost(failure: ModelFailure, input: Exchange, { reported: last, unreported }: SoFar): ModelFailure {
  if (failure.answer?.estimated) return failure;
  const reported = failure.answer ?? last;
  if (!reported && unreported === '') return failure;
  const request_tokens = reported?.usage.total_in ? 0 : countRequest(input);
  const answer = usageSoFar({ request_tokens, reported, unreported }, estimateTokens);
  return new ModelFailure(failure.message, { ...failure, answer });
}

/** Counts any other error as a failure of the model, which is retried at most twice and noted in the run's log. */
const createUnreadableError = (error: unknown) =>
  new ModelFailure(`The model's answer cannot be read: ${getReason(error)}`, { code: 'bad_model_response', recoverable: true });

const endless = (ms: number) =>
  new ModelFailure(
    `The model's answer had not ended after ${ms / 1_000} s (model_total_seconds of the workflow or provider, or MODEL_TOTAL_SECONDS)`,
    {
      code: 'model_deadline',
      recoverable: false,
    },
  );

const silent = (ms: number) =>
  new ModelFailure(
    `The model sent nothing for ${ms / 1_000} s (model_silence_seconds of the workflow or provider, or MODEL_SILENCE_SECONDS)`,
    {
      code: 'model_timeout',
      recoverable: true,
    },
  );

/** The same fetch, which reports every byte of a body. */
function watchFetch(fetch: Fetch, touch: () => void): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    touch();
    if (!response.body) return response;
    return new Response(
      relayBody(response.body, (source) => watchSource(source, touch)),
      response,
    );
  };
}

const watchSource = (source: ByteSource, touch: () => void): ByteSource => ({
  async read() {
    const chunk = await source.read();
    touch();
    return chunk;
  },
  cancel: (reason) => source.cancel(reason),
});
