import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { prepareProvider } from '../../src/main/commands/demo.ts';
import { type Config, isJsonLog, isTraced, readConfig, toRoleSettings } from '../../src/main/config.ts';
import type { InstallationSettings } from '../../src/main/installation-settings.ts';
import { getHousekeepingSettings, getWorkerSettings } from '../../src/main/open-worker.ts';
import { loginFile } from '../../src/main/remote/login.ts';
import { remotePlace } from '../../src/main/remote/place.ts';
import { createResources } from '../../src/main/resources.ts';
import { loadExternalSettings } from '../../src/main/setting.ts';
import { SETTING_NAMES } from '../../src/main/variables.ts';
import { createBrowserSignIn } from '../../src/main/wiring/browser-sign-in.ts';
import { openEgress } from '../../src/main/wiring/egress.ts';
import { getApiSettings } from '../../src/main/wiring/limits.ts';
import { getPackageSettings } from '../../src/main/wiring/mcp-packages.ts';
import { getStateSettings } from '../../src/main/wiring/mcp-state.ts';
import { openMailer } from '../../src/main/wiring/message-sender.ts';
import { getParserSettings, pageReader } from '../../src/main/wiring/parsers.ts';
import { getWaits, toolPorts } from '../../src/main/wiring/runs/index.ts';
import { listAgedSweeps } from '../../src/main/wiring/runs/tidying.ts';
import { getCheckoutSettings } from '../../src/main/wiring/runs/workspaces.ts';
import { getContextWindow, getRuntimeOptions } from '../../src/main/wiring/runtime-options.ts';
import { getToolRunnerSettings, toolsPython } from '../../src/main/wiring/tool-runner.ts';
import { getTraceSettings } from '../../src/main/wiring/traces.ts';
import { createQuotas } from '../../src/store/people/quota-checks.ts';
import { parseS3Settings } from '../../src/tools/snapshots/object-store.ts';
import { toWorkspaceLimits } from '../../src/tools/workspace-limits.ts';

const MIB = 1024 ** 2;
const SECRET = `whsec_${'x'.repeat(40)}`;
/** The settings that an installation with external servers must have. */
const BASE = {
  DATABASE_URL: 'postgresql://base/base',
  TEMPORAL_ADDRESS: 'base:7233',
  ENCRYPTION_KEYS: 'base:base',
  WEBHOOK_SECRET: SECRET,
};

type Read = (config: Config) => unknown;
type Env = Record<string, string>;
/** The value in the environment, where the code reads what it means, and what it reads there; other settings that this needs. */
type Row = [value: string, read: Read, meaning: unknown, more?: Env];

const limit =
  (pick: (limits: ReturnType<typeof getApiSettings>['limits']) => unknown): Read =>
  (config) =>
    pick(getApiSettings(config).limits);
const installed =
  (pick: (setting: InstallationSettings) => unknown): Read =>
  async (config) =>
    pick(await loadExternalSettings(config));
const egress = (pick: (egress: ReturnType<typeof openEgress>) => unknown): Read =>
  installed(async (setting) => {
    const resources = createResources((error) => console.error(error));
    try {
      return pick(openEgress(setting, resources));
    } finally {
      await resources.close();
    }
  });
const signIn =
  (pick: (sign_in: NonNullable<ReturnType<typeof createBrowserSignIn>>) => unknown): Read =>
  (config) => {
    const sign_in = createBrowserSignIn({ setting: { config, public_url: () => null }, keys: {} } as never);
    return sign_in && pick(sign_in);
  };
const OIDC = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'base' };

/** What is asked of the fetch of a discovery: the address that a browser is sent to. */
const listScopes: Read = async (config) => {
  const original = globalThis.fetch;
  const metadata = { issuer: 'https://id.example', authorization_endpoint: 'https://id.example/authorize' };
  globalThis.fetch = async () => Response.json(metadata);
  try {
    const { url } = await createBrowserSignIn({ setting: { config, public_url: () => null }, keys: {} } as never)!.login.begin(
      'https://perdura.example/auth/callback',
    );
    return new URL(url).searchParams.get('scope');
  } finally {
    globalThis.fetch = original;
  }
};
const demoProvider =
  (pick: (values: Record<string, unknown>, token: unknown) => unknown): Read =>
  async (config) => {
    const sent: Record<string, unknown>[] = [];
    const call = async (method: string, _path: string, body?: object) => {
      if (body) sent.push(body as Record<string, unknown>);
      return method === 'GET' ? [] : { id: 'p' };
    };
    await prepareProvider(call as never, config, 'http://demo');
    return pick(sent.at(-1)!, sent[0]?.value);
  };
const ports = (config: Config) => toolPorts({ setting: { config }, runner: {}, egress: { tools: {} } } as never);
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => 'accepted',
    ({ message }: Error) => message,
  );
const quotas = (config: Config, stored: number) =>
  createQuotas({ storedBytes: async () => stored, openTasks: async () => 7 } as never, config);
/** How many days after their end records are removed. */
const agedDays = (name: 'ended' | 'audit'): Read => {
  const day_ms = 24 * 3_600_000;
  const now = new Date(1_000 * day_ms);
  const sweepOf = (kind: string) => (before: Date) => ({ [kind]: (now.getTime() - before.getTime()) / day_ms });
  return (config) =>
    (listAgedSweeps({ ended: sweepOf('ended'), audit: sweepOf('audit') } as never, config, now) as Record<string, unknown>)[name];
};
const s3 =
  (pick: (settings: NonNullable<ReturnType<typeof parseS3Settings>>) => unknown): Read =>
  (config) => {
    const settings = parseS3Settings(config);
    return settings && pick(settings);
  };
const BUCKET = { S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'key' };

const ROWS: Partial<Record<keyof Config, Row>> = {
  PERDURA_HOME: ['/elsewhere', (config) => getToolRunnerSettings(config).workspaces, '/elsewhere/workspaces'],
  PERDURA_PORT: ['8123', installed((it) => it.own_ports), [8_123]],
  PERDURA_PUBLIC_URL: ['https://here.example', installed((it) => it.public_url()), 'https://here.example'],
  PERDURA_API_URL: [
    'https://api.example',
    async (config) => (await remotePlace(config)).url,
    'https://api.example',
    { PERDURA_API_TOKEN: 't' },
  ],
  PERDURA_API_TOKEN: [
    'token-7',
    async (config) => (await remotePlace(config)).token,
    'token-7',
    { PERDURA_API_URL: 'https://api.example' },
  ],
  XDG_CONFIG_HOME: ['/config', loginFile, '/config/perdura/login.json'],
  LOG_FORMAT: ['json', (config) => isJsonLog(config as never, { isTTY: true }), true],
  NODE_ENV: ['production', (config) => isJsonLog(config as never, {}), true],
  LOG_LEVEL: ['trace', (config) => getApiSettings(config).log_level, 'trace'],
  DATABASE_URL: ['postgresql://other/db', installed((it) => it.database_url), 'postgresql://other/db'],
  DATABASE_DIRECT_URL: ['postgresql://direct/db', installed((it) => it.direct_database_url), 'postgresql://direct/db'],
  REDIS_URL: ['redis://localhost:6399', egress((it) => it.own_ports.has(6_399)), true],
  S3_BUCKET: ['bucket-7', s3((it) => it.bucket), 'bucket-7', BUCKET],
  S3_ENDPOINT: ['https://s3.example', s3((it) => it.endpoint), 'https://s3.example', BUCKET],
  S3_REGION: ['eu-7', s3((it) => [it.region, it.endpoint]), ['eu-7', 'https://s3.eu-7.amazonaws.com'], BUCKET],
  S3_PREFIX: ['seven/', s3((it) => it.prefix), 'seven/', BUCKET],
  S3_ACCESS_KEY_ID: ['id-7', s3((it) => it.access_key_id), 'id-7', BUCKET],
  S3_SECRET_ACCESS_KEY: ['key-7', s3((it) => it.secret_access_key), 'key-7', BUCKET],
  TEMPORAL_ADDRESS: ['engine.example', installed((it) => it.temporal_address), 'engine.example:7233'],
  TEMPORAL_NAMESPACE: ['seven', (config) => getWorkerSettings(config).namespace, 'seven'],
  TEMPORAL_TASK_QUEUE: [
    'queue-7',
    (config) => [getWorkerSettings(config).task_queue, getHousekeepingSettings(config).task_queue],
    ['queue-7', 'queue-7'],
  ],
  TEMPORAL_ROLE_QUEUES: ['true', (config) => getWorkerSettings(config).roles, ['runs', 'models', 'tools']],
  TEMPORAL_UI_URL: ['https://ui.example', installed((it) => it.temporal_ui_url), 'https://ui.example'],
  ENCRYPTION_KEYS: ['two:key,one:key', installed((it) => it.encryption_keys), 'two:key,one:key'],
  IDENTITY_PROVIDERS: ['github,gitlab', installed((it) => it.identity_providers.length), 2],
  OIDC_ISSUER: ['https://seven.example', signIn((it) => it.name), 'seven.example', OIDC],
  OIDC_CLIENT_ID: ['client-7', signIn(() => 'there is a button'), 'there is a button', { OIDC_ISSUER: 'https://id.example' }],
  OIDC_SCOPES: ['openid groups', listScopes, 'openid groups', OIDC],
  OIDC_NAME: ['Seven', signIn((it) => it.name), 'Seven', OIDC],
  SESSION_HOURS: ['7', signIn((it) => it.session_hours), 7, OIDC],
  ADMIN_SUBJECTS: ['a:1, a:2', (config) => toRoleSettings(config).administrators, ['a:1', 'a:2']],
  EDITOR_SUBJECTS: ['e:1, e:2', (config) => toRoleSettings(config).editors, ['e:1', 'e:2']],
  VIEWER_SUBJECTS: ['v:1, v:2', (config) => toRoleSettings(config).viewers, ['v:1', 'v:2']],
  DEFAULT_ROLE: ['viewer', (config) => toRoleSettings(config).others, 'viewer'],
  SHARED_WRITE: ['everyone', (config) => getApiSettings(config).shared_write, 'everyone'],
  ALLOWED_HOSTS: [
    'here.example',
    installed((it) => [it.answers_to?.('here.example'), it.answers_to?.('there.example')]),
    [true, false],
  ],
  CORS_ORIGINS: ['https://a.example', (config) => getApiSettings(config).cors_origins, ['https://a.example']],
  RATE_LIMIT_PER_MINUTE: ['61', (config) => getApiSettings(config).rate_limit, 61],
  METRICS_TOKEN: ['token-7', (config) => getApiSettings(config).metrics_token, 'token-7'],
  TRUST_PROXY: ['2', (config) => getApiSettings(config).trust_proxy, 2],
  OTEL_SDK_DISABLED: ['true', isTraced, false, { OTEL_TRACES_EXPORTER: 'otlp' }],
  OTEL_TRACES_EXPORTER: ['otlp', isTraced, true],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['http://collector', isTraced, true],
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ['http://collector', isTraced, true],
  OTEL_EXPORTER_OTLP_PROTOCOL: ['http/json', (config) => getTraceSettings(config).protocol, 'http/json'],
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ['http/json', (config) => getTraceSettings(config).protocol, 'http/json'],
  OTEL_PROPAGATORS: ['b3', (config) => getTraceSettings(config).propagators_set, true],
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: ['true', (config) => getTraceSettings(config).content, true],
  DEFAULT_RUNTIME_BASE_URL: [
    'https://models.example:8443/v1',
    installed((it) => [it.default_runtime, it.provider_allow]),
    [{ base_url: 'https://models.example:8443/v1', model: null }, ['models.example:8443']],
  ],
  DEFAULT_RUNTIME_MODEL: ['model-7', installed((it) => it.default_runtime.model), 'model-7'],
  OPENAI_API_KEY: ['key-7', demoProvider((_, token) => token), 'key-7'],
  OPENAI_BASE_URL: [
    'https://openai.example',
    demoProvider((it) => it.base_url),
    'https://openai.example',
    { OPENAI_API_KEY: 'k' },
  ],
  OPENAI_MODEL: ['model-7', demoProvider((it) => it.default_model), 'model-7', { OPENAI_API_KEY: 'k' }],
  EMBEDDINGS_BASE_URL: ['https://e.example', installed((it) => it.embeddings?.base_url), 'https://e.example'],
  EMBEDDINGS_MODEL: ['e-7', installed((it) => it.embeddings?.model), 'e-7', { EMBEDDINGS_BASE_URL: 'https://e.example' }],
  EMBEDDINGS_API_KEY: ['key-7', installed((it) => it.embeddings?.api_key), 'key-7', { EMBEDDINGS_BASE_URL: 'https://e.example' }],
  EGRESS_ALLOW: ['10.0.0.0/8, b.example', egress((it) => it.tools_allow), ['10.0.0.0/8', 'b.example']],
  EGRESS_MESSAGE_MB: ['3', egress((it) => it.limits.message), 3 * MIB],
  EGRESS_STREAM_MB: ['5', egress((it) => it.limits.stream), 5 * MIB],
  EGRESS_ERROR_KB: ['7', egress((it) => it.limits.error), 7 * 1_024],
  EGRESS_HEADER_KB: ['11', egress((it) => it.limits.headers), 11 * 1_024],
  COMPAT_STRICT: ['true', (config) => getApiSettings(config).strict_parameters, true],
  CLIENT_TOOL_SECONDS: ['61', (config) => getWaits(config).client_wait_ms, 61_000],
  MODEL_RETRY_AFTER_MAX_SECONDS: ['67', (config) => getWaits(config).longest_wait_ms, 67_000],
  MODEL_SILENCE_SECONDS: ['71', installed((it) => getRuntimeOptions(withEgress(it)).deadlines.silence_ms), 71_000],
  MODEL_TOTAL_SECONDS: ['73', installed((it) => getRuntimeOptions(withEgress(it)).deadlines.total_ms), 73_000],
  ANTHROPIC_API_URL: [
    'https://vendor.example',
    installed((it) => getRuntimeOptions(withEgress(it)).vendor_url),
    'https://vendor.example',
  ],
  DEFAULT_CONTEXT_WINDOW: [
    '7001',
    installed((setting) => getContextWindow({ setting })({ model: 'unknown-model', provider: null }).tokens),
    7_001,
  ],
  WEBHOOK_SECRET: [`whsec_${'7'.repeat(40)}`, installed((it) => it.webhook_secret), `whsec_${'7'.repeat(40)}`],
  SMTP_URL: [
    'smtps://mail.example:465',
    (config) => openMailer(config).refusal('ops@example.com'),
    null,
    { SMTP_FROM: 'alerts@example.com' },
  ],
  SMTP_FROM: [
    'Perdura <alerts@other.example>',
    (config) => openMailer(config).refusal('ops@other.example'),
    null,
    { SMTP_URL: 'smtp://mail.example' },
  ],
  SMTP_RECIPIENTS: [
    'ops@third.example, @fourth.example',
    (config) =>
      ['ops@third.example', 'dev@third.example', 'x@fourth.example'].map((to) => openMailer(config).refusal(to) === null),
    [true, false, true],
    { SMTP_URL: 'smtp://mail.example', SMTP_FROM: 'alerts@example.com' },
  ],
  PATH: ['/opt/bin', (config) => getCheckoutSettings(config).path, '/opt/bin'],
  REPO_CA_FILE: ['/etc/ca.pem', (config) => getCheckoutSettings(config).ca_file, '/etc/ca.pem'],
  REPO_MAX_FILES: ['17', (config) => getCheckoutSettings(config).max_files, 17],
  REPO_MAX_MB: ['19', (config) => getCheckoutSettings(config).max_bytes, 19 * MIB],
  TOOLRUNNER_PYTHON: ['/opt/python', toolsPython, '/opt/python'],
  TOOLRUNNER_PRELOAD: ['numpy, pandas', (config) => getToolRunnerSettings(config).preload, ['numpy', 'pandas']],
  TOOL_ISOLATION: ['strict', (config) => getToolRunnerSettings(config).isolation, 'strict'],
  MCP_PATHS: ['/data, /more:rw', (config) => getToolRunnerSettings(config).host_paths.allow, ['/data', '/more:rw']],
  MCP_NPM_REGISTRY: ['https://npm.example', (config) => getPackageSettings(config).registries.npm, 'https://npm.example'],
  MCP_PYPI_INDEX: ['https://pypi.example', (config) => getPackageSettings(config).registries.pypi, 'https://pypi.example'],
  MCP_STATE_MB: ['24', (config) => getStateSettings(config).limits.bytes, 24 * MIB],
  MCP_STATE_FILES: ['25', (config) => getStateSettings(config).limits.files, 25],
  MCP_PACKAGES_MB: ['23', (config) => getPackageSettings(config).total_bytes, 23 * MIB],
  BASH_NETWORK: ['true', (config) => ports(config).bash_network, true],
  SEARCH_API_URL: ['https://search.example', (config) => ports(config).search_url, 'https://search.example'],
  WORKER_ROLE: [
    'tools,models',
    (config) => getWorkerSettings(config).roles,
    ['models', 'tools'],
    { TEMPORAL_ROLE_QUEUES: 'true' },
  ],
  WORKER_MAX_ACTIVITIES: ['1301', (config) => getWorkerSettings(config).max_activities, 1_301],
  WORKER_CACHED_RUNS: ['29', (config) => getWorkerSettings(config).cached_runs, 29],
  WORKER_SHUTDOWN_SECONDS: ['31', (config) => getWorkerSettings(config).shutdown_seconds, 31],
  WORKER_BUILD_ID: ['build-7', (config) => getWorkerSettings(config).build_id, 'build-7'],
  WORKER_CALL_STACKS: ['true', (config) => getWorkerSettings(config).call_stacks, true],
  RECONCILE_SECONDS: ['37', (config) => getHousekeepingSettings(config).every_seconds, 37],
  ENGINE_RETENTION_DAYS: ['41', (config) => getHousekeepingSettings(config).retention_days, 41],
  GUARDRAIL_PATTERNS: ['3', limit((it) => it.guardrail.patterns), 3],
  GUARDRAIL_PATTERN_CHARACTERS: ['5', limit((it) => it.guardrail.pattern_characters), 5],
  GUARDRAIL_SCHEMA_CHARACTERS: ['7', limit((it) => it.guardrail.schema_characters), 7],
  STREAMS_PER_PRINCIPAL: ['11', limit((it) => it.streams.each), 11],
  STREAMS_OPEN: ['13', limit((it) => it.streams.total), 13],
  UPLOADS_PER_PRINCIPAL: ['17', limit((it) => it.uploads.each), 17],
  UPLOADS_IN_PROGRESS: ['19', limit((it) => it.uploads.total), 19],
  ATTACHMENT_MAX_MB: ['23', limit((it) => it.attachments.bytes_each), 23 * MIB],
  ATTACHMENTS_MAX_MB: ['29', limit((it) => it.attachments.bytes_together), 29 * MIB],
  ATTACHMENTS_PER_PROMPT: ['31', limit((it) => it.attachments.count), 31],
  JSON_VALUES: ['1009', limit((it) => it.json_values), 1_009],
  SIGN_IN_FAILURES_PER_MINUTE: ['37', limit((it) => it.sign_in_failures), 37],
  REQUEST_SECONDS: ['41', limit((it) => it.request_seconds), 41],
  REPLY_STALL_SECONDS: ['43', limit((it) => it.reply_stall_seconds), 43],
  RUNNING_TASKS_PER_PRINCIPAL: ['7', (config) => quotas(config, 0).admitTask('a', async (most_open) => most_open), 7],
  STORED_BYTES_PER_PRINCIPAL: [
    '101',
    async (config) => [
      await refusalOf(quotas(config, 100).admitBytes('a', 1)),
      (await refusalOf(quotas(config, 100).admitBytes('a', 2))) === 'accepted',
    ],
    ['accepted', false],
  ],
  WORKSPACE_MB: ['47', (config) => toWorkspaceLimits(config).bytes, 47 * MIB],
  WORKSPACE_FILES: ['53', (config) => toWorkspaceLimits(config).files, 53],
  PARSER_PROCESSES: ['59', (config) => getParserSettings(config).pool.processes, 59],
  JUDGE_SECONDS: ['61', (config) => getParserSettings(config).judge.deadline_ms, 61_000],
  READ_SECONDS: [
    '67',
    (config) => {
      const parsers = { run: async (_job: string, _input: string, { deadline_ms }: { deadline_ms: number }) => deadline_ms };
      return pageReader({ parsers, setting: { config } } as never)('<p>', 'alice');
    },
    67_000,
  ],
  AUDIT_RETENTION_DAYS: ['83', agedDays('audit'), 83],
  RETENTION_DAYS: ['89', agedDays('ended'), 89],
};

const withEgress = (setting: InstallationSettings) => ({ setting, egress: { providers: {}, installation: fetch } }) as never;

/** Settings that are seen only in a process or a service that has them: the test that sets each. */
const ELSEWHERE: Partial<Record<keyof Config, string>> = {
  PERDURA_HOST: 'api/refused-starts.test.ts',
  PERDURA_READY_FILE: 'support/machine/npm-start.ts',
  DATABASE_POOL_SIZE: 'api/crowded.test.ts',
  TEMPORAL_CLI_PATH: 'support/machine/processes.ts',
  IDENTITY_API_URL: 'api/oidc.test.ts',
  OIDC_AUDIENCE: 'api/oidc.test.ts',
  OIDC_ROLE_CLAIM: 'api/oidc.test.ts',
  OIDC_CLIENT_SECRET: 'browser/dashboard-sign-in.test.ts',
  ALLOW_STDIO_MCP: 'temporal/tools.test.ts',
  WORKER_PORT: 'temporal/worker-port.test.ts',
  WORKER_ENGINE_RELAY: 'long/peer-faults.test.ts',
  AUDIT_LOG: 'api/audit.test.ts',
  AUDIT_WEBHOOK_URL: 'api/audit-webhook.test.ts',
  AUDIT_WEBHOOK_SECRET: 'api/audit-webhook.test.ts',
};

it('covers every setting, here or where it acts', () => {
  expect([...Object.keys(ROWS), ...Object.keys(ELSEWHERE)].sort()).toEqual([...SETTING_NAMES].sort());
});

it.each(Object.entries(ROWS))('%s has its effect', async (name, [value, read, meaning, more = {}]) => {
  const env: Env = { ...BASE, ...more };
  const { [name]: _, ...unset } = env;
  const before = name in BASE ? env : unset;
  const readOrRefuse = async (values: Env) => {
    try {
      return await read(readConfig(values));
    } catch (error) {
      return { refused: (error as Error).message };
    }
  };
  expect(await readOrRefuse(before)).not.toEqual(meaning);
  expect(await readOrRefuse({ ...env, [name]: value })).toEqual(meaning);
});

it.each(Object.entries(ELSEWHERE))('%s is set in test/%s', (name, file) => {
  const text = readFileSync(resolve(import.meta.dirname, '..', file), 'utf8');
  expect(text).toMatch(new RegExp(`\\b${name}\\b`));
});
