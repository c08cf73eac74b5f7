/** The reasons for which a run may ask another model. */
export const FALLBACK_REASONS = [
  'unreachable',
  'overloaded',
  'rate_limited',
  'quota',
  'deprecated',
  'content_filter',
  'context_too_long',
] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

const REASONS: Record<string, FallbackReason> = {
  model_unreachable: 'unreachable',
  model_timeout: 'unreachable',
  model_deadline: 'unreachable',
  model_stream_cut: 'unreachable',
  bad_model_response: 'unreachable',
  model_loading: 'overloaded',
  rate_limited: 'rate_limited',
  quota_exhausted: 'quota',
  unknown_model: 'deprecated',
  content_filter: 'content_filter',
  context_window_full: 'context_too_long',
};

/** Returns the reason that a failure is; null if another model would not help, as for a key or a request that was refused. */
export function findReason({ code, recoverable }: { code: string; recoverable: boolean }): FallbackReason | null {
  if (code === 'model_error') return recoverable ? 'overloaded' : null;
  return REASONS[code] ?? null;
}
