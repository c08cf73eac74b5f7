import { resolve } from 'node:path';
import { z } from 'zod';
import { ROLES, type Role } from '../temporal/names.ts';

const List = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );
const Url = z.url();
/** Parses roles: `runs`, `models`, `tools`, several of them separated by commas, or `all`. */
export const WorkerRoles = z.string().transform((text, { issues, value }): readonly Role[] => {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => name !== 'all' && !isRole(name));
  if (unknown !== undefined) {
    issues.push({
      code: 'custom',
      input: value,
      message: `${unknown || 'an empty name'} is not one of ${ROLES.join(', ')}, all`,
    });
    return [];
  }
  return names.includes('all') ? ROLES : ROLES.filter((role) => names.includes(role));
});
const isRole = (name: string): boolean => (ROLES as readonly string[]).includes(name);
const Postgres = z
  .string()
  .refine((text) => /^postgres(ql)?:$/.test(getProtocol(text)), 'a URL such as postgresql://user:password@host:5432/database');
const Redis = z
  .string()
  .refine(
    (text) => /^rediss?:$/.test(getProtocol(text)),
    'redis://host:6379 or, with TLS, rediss://host:6379 (addresses of Sentinel or a cluster are not supported)',
  );
const Smtp = z
  .string()
  .refine(
    (text) => /^smtps?:$/.test(getProtocol(text)) && new URL(text).hostname !== '' && isDecodable(new URL(text).password),
    'smtp://user:password@host:587 or, with TLS from the start, smtps://host:465, with a % of the password written as %25',
  );
const HostAndPort = z
  .string()
  .regex(/^(\[[\da-f:]+\]|[^\s:/]+)(:\d{1,5})?$/i, 'host:port, such as localhost:7233')
  .transform((text) => (/:\d+$/.test(text) ? text : `${text}:7233`));

const isDecodable = (text: string): boolean => !/%(?![\da-f]{2})/i.test(text);
const getProtocol = (text: string): string => (URL.canParse(text) ? new URL(text).protocol : '');

/** The port of the API if PERDURA_PORT is not set; `npm start` takes the next free one if this is taken. */
export const DEFAULT_PORT = 8080;

const SigningSecret = z.string().regex(/^whsec_[A-Za-z0-9+/=]{32,}$/, 'whsec_ and at least 24 bytes in base64');
const WebhookUrl = z
  .string()
  .refine(
    (text) => /^https?:$/.test(getProtocol(text)) && !new URL(text).username,
    'https://host.example/path, without a password',
  );

/** Every variable that Perdura reads. `.env.example` lists them with their meaning. */
const Variables = z.object({
  PERDURA_HOME: z
    .string()
    .default('.perdura')
    .transform((path) => resolve(path)),
  PERDURA_HOST: z.string().optional(),
  PERDURA_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  PERDURA_PUBLIC_URL: Url.optional(),
  PERDURA_READY_FILE: z.string().optional(),
  PERDURA_API_URL: Url.optional(),
  PERDURA_API_TOKEN: z.string().optional(),
  XDG_CONFIG_HOME: z.string().optional(),
  LOG_FORMAT: z.enum(['json', 'text']).optional(),
  NODE_ENV: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('warn'),
  DATABASE_URL: Postgres.optional(),
  DATABASE_DIRECT_URL: Postgres.optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).default(20),
  REDIS_URL: Redis.optional(),
  S3_BUCKET: z.string().optional(),
  S3_ENDPOINT: Url.optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_PREFIX: z.string().default('perdura/'),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  TEMPORAL_ADDRESS: HostAndPort.optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default('perdura'),
  /** If true, runs that start now send model and tool calls to separate task queues, for workers of these roles. */
  TEMPORAL_ROLE_QUEUES: z.stringbool().default(false),
  TEMPORAL_UI_URL: Url.optional(),
  TEMPORAL_CLI_PATH: z.string().optional(),
  ENCRYPTION_KEYS: z.string().optional(),
  IDENTITY_PROVIDERS: List,
  IDENTITY_API_URL: Url.optional(),
  OIDC_ISSUER: Url.refine(
    (url) => /^https:|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(`${url}/`),
    'a URL with https://',
  ).optional(),
  OIDC_AUDIENCE: List,
  OIDC_ROLE_CLAIM: z.string().optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_SCOPES: z
    .string()
    .regex(/(^| )openid( |$)/, 'scopes with a space between them, one of them openid')
    .default('openid profile email'),
  OIDC_NAME: z.string().max(60).optional(),
  SESSION_HOURS: z.coerce.number().positive().max(720).default(12),
  ADMIN_SUBJECTS: List,
  DEFAULT_ROLE: z.enum(['viewer', 'editor']).default('editor'),
  EDITOR_SUBJECTS: List,
  VIEWER_SUBJECTS: List,
  SHARED_WRITE: z.enum(['everyone', 'owner']).default('owner'),
  ALLOWED_HOSTS: List,
  CORS_ORIGINS: List,
  RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(1).default(6_000),
  METRICS_TOKEN: z.string().optional(),
  OTEL_SDK_DISABLED: z.stringbool().default(false),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: Url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Url.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['http/protobuf', 'http/json']).default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: z.enum(['http/protobuf', 'http/json']).optional(),
  OTEL_PROPAGATORS: z.string().optional(),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: z.stringbool().default(false),
  DEFAULT_RUNTIME_BASE_URL: Url.optional(),
  DEFAULT_RUNTIME_MODEL: z.string().optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: Url.optional(),
  OPENAI_MODEL: z.string().optional(),
  EMBEDDINGS_BASE_URL: Url.optional(),
  EMBEDDINGS_MODEL: z.string().default('text-embedding-3-small'),
  EMBEDDINGS_API_KEY: z.string().optional(),
  EGRESS_ALLOW: List,
  EGRESS_MESSAGE_MB: z.coerce.number().positive().max(256).default(16),
  EGRESS_STREAM_MB: z.coerce.number().positive().max(4_096).default(64),
  EGRESS_ERROR_KB: z.coerce.number().positive().max(1_024).default(64),
  EGRESS_HEADER_KB: z.coerce.number().positive().max(1_024).default(32),
  COMPAT_STRICT: z.stringbool().default(false),
  CLIENT_TOOL_SECONDS: z.coerce.number().positive().max(86_400).default(3_600),
  MODEL_SILENCE_SECONDS: z.coerce.number().positive().max(3_600).default(120),
  MODEL_TOTAL_SECONDS: z.coerce.number().positive().max(7_200).default(1_800),
  MODEL_RETRY_AFTER_MAX_SECONDS: z.coerce.number().positive().max(86_400).default(120),
  WEBHOOK_SECRET: SigningSecret.optional(),
  DEFAULT_CONTEXT_WINDOW: z.coerce.number().int().min(1_000).default(128_000),
  PATH: z.string().default('/usr/local/bin:/usr/bin:/bin'),
  REPO_CA_FILE: z.string().optional(),
  REPO_MAX_FILES: z.coerce.number().int().min(1).default(50_000),
  REPO_MAX_MB: z.coerce.number().int().min(1).default(1_024),
  TOOLRUNNER_PYTHON: z.string().optional(),
  TOOLRUNNER_PRELOAD: List,
  TOOL_ISOLATION: z.enum(['auto', 'strict', 'none']).default('auto'),
  ALLOW_STDIO_MCP: z.stringbool().optional(),
  MCP_PATHS: List.refine((paths) => paths.every((path) => path.startsWith('/')), 'absolute paths, each with or without :rw'),
  MCP_NPM_REGISTRY: Url.optional(),
  MCP_PYPI_INDEX: Url.optional(),
  MCP_PACKAGES_MB: z.coerce.number().int().min(1).default(4_096),
  MCP_STATE_MB: z.coerce.number().int().min(1).default(1_024),
  MCP_STATE_FILES: z.coerce.number().int().min(1).default(100_000),
  BASH_NETWORK: z.stringbool().default(false),
  SEARCH_API_URL: Url.optional(),
  ANTHROPIC_API_URL: Url.optional(),
  WORKER_ROLE: WorkerRoles.prefault('all'),
  WORKER_MAX_ACTIVITIES: z.coerce.number().int().min(1).optional(),
  WORKER_CACHED_RUNS: z.coerce.number().int().min(2).default(500),
  WORKER_SHUTDOWN_SECONDS: z.coerce.number().min(0).default(20),
  /** The port of a worker's health and metrics; unset: they are not served. */
  WORKER_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  WORKER_BUILD_ID: z.string().optional(),
  /** If true, Temporal's UI can request call stacks of runs, at the cost of CPU time. */
  WORKER_CALL_STACKS: z.stringbool().default(false),
  /**
   * If true, the worker replaces a silent connection to Temporal within seconds, at the cost of CPU time. Unset: true unless
   * Temporal is on this machine.
   */
  WORKER_ENGINE_RELAY: z.stringbool().optional(),
  GUARDRAIL_PATTERNS: z.coerce.number().int().min(0).default(100),
  GUARDRAIL_PATTERN_CHARACTERS: z.coerce.number().int().min(1).default(1_000),
  GUARDRAIL_SCHEMA_CHARACTERS: z.coerce.number().int().min(2).default(65_536),
  RUNNING_TASKS_PER_PRINCIPAL: z.coerce.number().int().min(1).default(1_000),
  STREAMS_PER_PRINCIPAL: z.coerce.number().int().min(1).default(100),
  STREAMS_OPEN: z.coerce.number().int().min(1).default(4_000),
  STORED_BYTES_PER_PRINCIPAL: z.coerce.number().int().min(1).default(2_147_483_648),
  ATTACHMENT_MAX_MB: z.coerce.number().positive().max(25).default(10),
  ATTACHMENTS_MAX_MB: z.coerce.number().positive().max(100).default(20),
  ATTACHMENTS_PER_PROMPT: z.coerce.number().int().min(0).max(100).default(10),
  UPLOADS_PER_PRINCIPAL: z.coerce.number().int().min(1).default(8),
  UPLOADS_IN_PROGRESS: z.coerce.number().int().min(1).default(32),
  WORKSPACE_MB: z.coerce.number().int().min(1).default(2_048),
  WORKSPACE_FILES: z.coerce.number().int().min(1).default(100_000),
  JSON_VALUES: z.coerce.number().int().min(1_000).default(50_000),
  REQUEST_SECONDS: z.coerce.number().positive().default(30),
  REPLY_STALL_SECONDS: z.coerce.number().positive().default(30),
  SIGN_IN_FAILURES_PER_MINUTE: z.coerce.number().int().min(1).default(60),
  TRUST_PROXY: z
    .string()
    .default('')
    .transform((text) => (text === '' ? false : text === 'true' ? true : /^\d+$/.test(text) ? Number(text) : text)),
  PARSER_PROCESSES: z.coerce.number().int().min(2).default(4),
  JUDGE_SECONDS: z.coerce.number().positive().default(10),
  READ_SECONDS: z.coerce.number().positive().default(30),
  RECONCILE_SECONDS: z.coerce.number().int().min(5).default(60),
  AUDIT_LOG: z.stringbool().default(false),
  SMTP_URL: Smtp.optional(),
  SMTP_FROM: z
    .string()
    .regex(/^[^<>@\r\n]*<[^\s<>@]+@[^\s<>@]+>$|^[^\s<>@]+@[^\s<>@]+$/, 'alerts@example.com or Perdura <alerts@example.com>')
    .optional(),
  SMTP_RECIPIENTS: List.refine(
    (entries) => entries.every((entry) => entry === '*' || /^[^\s@]*@[^\s@]+$/.test(entry)),
    'addresses, domains such as @example.com, or *',
  ),
  AUDIT_WEBHOOK_URL: WebhookUrl.optional(),
  AUDIT_WEBHOOK_SECRET: SigningSecret.optional(),
  AUDIT_RETENTION_DAYS: z.coerce.number().int().min(0).max(36_500).default(0),
  RETENTION_DAYS: z.coerce.number().int().min(0).max(36_500).default(0),
  ENGINE_RETENTION_DAYS: z.coerce.number().min(0.05).max(3_650).default(1),
});

export const SETTING_NAMES = Object.keys(Variables.shape) as readonly (keyof typeof Variables.shape)[];

/** The variables as they are set together: some need another. */
export const Environment = Variables.refine(
  ({ AUDIT_WEBHOOK_URL, AUDIT_WEBHOOK_SECRET }) => !AUDIT_WEBHOOK_URL || AUDIT_WEBHOOK_SECRET,
  {
    path: ['AUDIT_WEBHOOK_SECRET'],
    message: 'whsec_ and at least 24 bytes in base64, with which AUDIT_WEBHOOK_URL is signed',
  },
).refine(({ SMTP_URL, SMTP_FROM }) => !SMTP_URL || SMTP_FROM, {
  path: ['SMTP_FROM'],
  message: 'the address from which SMTP_URL sends, such as alerts@example.com',
});
