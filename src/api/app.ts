import multipart from '@fastify/multipart';
import rateLimit from '@fastify/rate-limit';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Endpoint } from '../contracts/endpoint.ts';
import type { HostRule } from '../domain/hosts.ts';
import type { Tracing } from '../observe/tracing.ts';
import { createLimitChecks, type LimitChecks } from './checks/priced-limits.ts';
import { refuseOtherThanThread } from './checks/thread-tokens.ts';
import { mcpEndpointRoutes } from './compat/mcp/routes.ts';
import { openaiRoutes } from './compat/openai/routes.ts';
import { requireCaller } from './http/auth.ts';
import { createClosingSignal } from './http/closing.ts';
import { refuseIfCrowded } from './http/crowded.ts';
import type { SharedWrite } from './http/crud.ts';
import { edgeOptions, refuseAtEdge } from './http/edge.ts';
import { type GateLimit, streamGate, uploadGate } from './http/gate.ts';
import { refuseOtherHosts } from './http/hosts.ts';
import { createIdempotency } from './http/idempotency.ts';
import { parseJsonBody } from './http/json-body.ts';
import { LOG_SHAPE } from './http/log-shape.ts';
import type { Api } from './http/mount.ts';
import { allowOrigins, shareWithOrigins } from './http/origins.ts';
import { refuseInOurWords, refuseRoute } from './http/problems.ts';
import { RateWindow } from './http/rate-window.ts';
import { createRedactedLog, redactReplies } from './http/redact-replies.ts';
import { returnRequestIds } from './http/request-ids.ts';
import { secureHeaders } from './http/secure-headers.ts';
import { cutStalled, lingerOnClose } from './http/slow-clients.ts';
import { MOST_MIB } from './http/uploads.ts';
import { agentRoutes } from './routes/agents.ts';
import { alertRoutes } from './routes/alerts.ts';
import { type Attach, type AttachmentLimits, attachmentRoutes, createAttach } from './routes/attachments.ts';
import { auditRoutes } from './routes/audit.ts';
import { budgetRoutes } from './routes/budgets.ts';
import { builtinToolRoutes } from './routes/builtin-tools.ts';
import { changeRoutes } from './routes/changes.ts';
import { chatRoutes } from './routes/chat.ts';
import { customToolRoutes } from './routes/custom-tools.ts';
import { datasetRoutes } from './routes/datasets.ts';
import { evaluationRoutes } from './routes/evaluations.ts';
import { frontEndRoutes } from './routes/front-ends.ts';
import { type GuardrailLimits, guardrailRoutes } from './routes/guardrails.ts';
import { inboxRoutes } from './routes/inbox.ts';
import { keyRoutes } from './routes/keys.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { mcpRoutes } from './routes/mcps.ts';
import { meRoutes } from './routes/me.ts';
import { memoryRoutes } from './routes/memories.ts';
import { modelRoutes } from './routes/models.ts';
import { providerRoutes } from './routes/providers.ts';
import { runInspectionRoutes } from './routes/run-inspection.ts';
import { scheduledAgentRoutes } from './routes/scheduled-agents.ts';
import { scoreRoutes } from './routes/scores.ts';
import { skillRoutes } from './routes/skills.ts';
import { systemRoutes } from './routes/system.ts';
import { taskRoutes } from './routes/tasks.ts';
import { threadMessageRoutes } from './routes/thread-messages.ts';
import { threadTokenRoutes } from './routes/thread-tokens.ts';
import { threadRoutes } from './routes/threads.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { transferRoutes } from './routes/transfer.ts';
import { usageRoutes } from './routes/usage.ts';
import { versionRoutes } from './routes/versions.ts';
import { webhookSecretRoutes } from './routes/webhook-secrets.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workflowRoutes } from './routes/workflows.ts';
import { type DashboardSettings, serveDashboards } from './service/dashboard.ts';
import { serveDocs } from './service/docs.ts';
import { healthRoutes } from './service/health.ts';
import { metricsRoute } from './service/metrics.ts';
import type { Services } from './services.ts';
import { browserSignInRoutes, createCookies } from './sign-in/browser-sign-in.ts';
import { mcpSignInCallback } from './sign-in/mcp-sign-in-callback.ts';
import { type Authorization, resourceMetadata } from './sign-in/resource-metadata.ts';
import { createSignIns } from './sign-in/sign-in.ts';
import { createTokenWatch } from './sign-in/token-ends.ts';

/** The most that one caller, or all callers together, may use at once. */
export interface ApiLimits {
  guardrail: GuardrailLimits;
  streams: GateLimit;
  uploads: GateLimit;
  attachments: AttachmentLimits;
  /** The most values that a JSON body may have. */
  json_values: number;
  /** Failed sign-ins per minute and address. */
  sign_in_failures: number;
  /** The longest time that a request may take to arrive, in seconds. */
  request_seconds: number;
  /** How long a client may accept nothing of a reply that waits for it, in seconds. */
  reply_stall_seconds: number;
}

interface ApiSettings {
  version: string;
  shared_write: SharedWrite;
  cors_origins: readonly string[];
  /** The proxies trusted to report the client address: a number of hops, or addresses. */
  trust_proxy: boolean | number | string;
  /** The accepted hosts; null: any `Host`. */
  answers_to: HostRule | null;
  /** True if /v1 refuses parameters that a run would not honour. */
  strict_parameters: boolean;
  /** Requests per minute and caller. */
  rate_limit: number;
  metrics_token: string | null;
  authorization: Authorization;
  limits: ApiLimits;
  log_level: string;
  log_to: { write(line: string): void };
  /** The traces; null: tracing is off. */
  tracing: Pick<Tracing, 'watch' | 'ids'> | null;
  dashboards: DashboardSettings;
}

const JSON_BYTES = 1024 * 1024;
const FORM_FIELDS = 20;

export async function buildApp(services: Services, settings: ApiSettings): Promise<FastifyInstance> {
  const http = Fastify({
    bodyLimit: JSON_BYTES,
    ...edgeOptions(settings.limits.request_seconds),
    trustProxy: toTrustProxy(settings.trust_proxy),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500 },
    logger: {
      ...LOG_SHAPE,
      level: settings.log_level,
      redact: ['req.headers.authorization', 'req.headers.cookie'],
      stream: createRedactedLog(services.secrets, settings.log_to),
      ...(settings.tracing ? { mixin: settings.tracing.ids } : {}),
    },
  });
  const endpoints: Endpoint[] = [];
  returnRequestIds(http);
  await settings.tracing?.watch(http);
  secureHeaders(http);
  lingerOnClose(http.server);
  cutStalled(http.server, settings.limits.reply_stall_seconds);
  parseJsonBody(http, settings.limits.json_values);
  refuseInOurWords(http, endpoints);
  refuseAtEdge(http);
  redactReplies(http, services.secrets);
  const allowsOrigin = allowOrigins({ ...settings, knowsOrigin: services.store.threadTokens.knowsOrigin });
  refuseOtherHosts(http, { ...settings, allowsOrigin });
  await shareWithOrigins(http, allowsOrigin);
  await http.register(multipart, {
    limits: { fileSize: MOST_MIB * 1024 ** 2, files: 1, fields: FORM_FIELDS, parts: FORM_FIELDS + 1 },
  });

  const { limits } = settings;
  const { waiting } = services.following;
  const gates = { streams: streamGate(limits.streams), uploads: uploadGate(limits.uploads), admitBytes: services.admitBytes };
  const idempotency = createIdempotency(services.store.idempotency);
  const { audit, publishChange } = services;
  const shared = {
    gates,
    audit,
    publishChange,
    watchToken: createTokenWatch(services.identify),
    endpoints,
    idempotency,
    closing: createClosingSignal(http),
    waiting,
  };
  healthRoutes({ http, ...shared }, services);
  resourceMetadata(http, settings.authorization);
  metricsRoute(http, { token: settings.metrics_token, waiting, sources: services.metrics });
  const sign_ins = createSignIns(limits.sign_in_failures);
  const { identify, authorityOf, sign_in } = services;
  mcpSignInCallback(http);
  browserSignInRoutes(http, { ...services, sign_ins }, sign_in);
  await http.register(async (guarded) => {
    refuseIfCrowded(guarded, services.isCrowded);
    const browser = sign_in && { cookies: createCookies(sign_in), public_url: sign_in.public_url };
    requireCaller(guarded, { identify, sign_ins, authorityOf, browser, refuseUnopened: refuseOtherThanThread(services) });
    await guarded.register(rateLimit, {
      max: settings.rate_limit,
      store: RateWindow,
      hook: 'preHandler',
      keyGenerator: (request) => request.caller.key,
    });
    const { strict_parameters } = settings;
    const attach = createAttach({ ...services, limits: limits.attachments });
    const more = { ...services, strict_parameters, attach, dollar_limits: createLimitChecks(services) };
    mountResources({ http: guarded, ...shared }, more, settings);
    await guarded.register(async (scope) => openaiRoutes({ http: scope, ...shared }, more));
    mcpEndpointRoutes({ http: guarded, ...shared }, more, settings.version);
    // Unknown paths under /api and /v1 require the token first, like known ones.
    for (const path of ['/api', '/api/*', '/v1', '/v1/*'])
      guarded.all(path, async (request, reply) => refuseRoute(endpoints, request, reply));
  });
  await serveDocs(http, { endpoints, version: settings.version });
  await serveDashboards(http, settings.dashboards);
  return http;
}

/** Trusts that many proxy hops in front of this service. */
const toTrustProxy = (proxy: ApiSettings['trust_proxy']) =>
  typeof proxy === 'number' ? (_address: string, hop: number) => hop < proxy : proxy;

function mountResources(
  api: Api,
  services: Services & { attach: Attach; strict_parameters: boolean; dollar_limits: LimitChecks },
  { shared_write, limits, version }: ApiSettings,
): void {
  meRoutes(api, services);
  changeRoutes(api, services);
  keyRoutes(api, services);
  auditRoutes(api, services);
  systemRoutes(api, services, version);
  agentRoutes(api, services, shared_write);
  providerRoutes(api, services, shared_write);
  skillRoutes(api, services, shared_write);
  guardrailRoutes(api, services, { shared_write, limits: limits.guardrail });
  mcpRoutes(api, services, shared_write);
  memoryRoutes(api, services, shared_write);
  knowledgeRoutes(api, services, shared_write);
  transferRoutes(api, services, limits.guardrail);
  builtinToolRoutes(api, services);
  tokenRoutes(api, services);
  customToolRoutes(api, services, shared_write);
  attachmentRoutes(api, { store: services.store, limits: limits.attachments });
  workflowRoutes(api, services);
  versionRoutes(api, services, shared_write);
  taskRoutes(api, services);
  inboxRoutes(api, services);
  scoreRoutes(api, services);
  datasetRoutes(api, services);
  threadRoutes(api, services);
  threadMessageRoutes(api, services);
  frontEndRoutes(api, services);
  threadTokenRoutes(api, services);
  evaluationRoutes(api, services);
  runInspectionRoutes(api, services);
  usageRoutes(api, services.store);
  modelRoutes(api, services);
  webhookRoutes(api, services);
  webhookSecretRoutes(api, services);
  chatRoutes(api, services);
  scheduledAgentRoutes(api, services);
  alertRoutes(api, services);
  budgetRoutes(api, services);
}
