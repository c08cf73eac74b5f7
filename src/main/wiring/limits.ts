import type { ApiLimits } from '../../api/app.ts';
import type { Config } from '../config.ts';

const getApiLimits = (config: Config): ApiLimits => ({
  guardrail: {
    patterns: config.GUARDRAIL_PATTERNS,
    pattern_characters: config.GUARDRAIL_PATTERN_CHARACTERS,
    schema_characters: config.GUARDRAIL_SCHEMA_CHARACTERS,
  },
  streams: { each: config.STREAMS_PER_PRINCIPAL, total: config.STREAMS_OPEN },
  uploads: { each: config.UPLOADS_PER_PRINCIPAL, total: config.UPLOADS_IN_PROGRESS },
  attachments: {
    bytes_each: config.ATTACHMENT_MAX_MB * 1024 ** 2,
    bytes_together: config.ATTACHMENTS_MAX_MB * 1024 ** 2,
    count: config.ATTACHMENTS_PER_PROMPT,
  },
  json_values: config.JSON_VALUES,
  sign_in_failures: config.SIGN_IN_FAILURES_PER_MINUTE,
  request_seconds: config.REQUEST_SECONDS,
  reply_stall_seconds: config.REPLY_STALL_SECONDS,
});

/** Returns what the environment sets of the API. */
export const getApiSettings = (config: Config) => ({
  shared_write: config.SHARED_WRITE,
  cors_origins: config.CORS_ORIGINS,
  trust_proxy: config.TRUST_PROXY,
  strict_parameters: config.COMPAT_STRICT,
  rate_limit: config.RATE_LIMIT_PER_MINUTE,
  metrics_token: config.METRICS_TOKEN ?? null,
  log_level: config.LOG_LEVEL,
  limits: getApiLimits(config),
});
