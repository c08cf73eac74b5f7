import cors from '@fastify/cors';
import multipart from '@fastify/multipart';
import rateLimit from '@fastify/rate-limit';
import Fastify, { type FastifyInstance } from 'fastify';
import { v7 as uuid } from 'uuid';
import type { BuiltinTool } from '../contracts/builtin-tools.ts';
import { doors } from '../contracts/doors.ts';
import type { Endpoint } from '../contracts/endpoint.ts';
import type { EventBus } from '../events/bus.ts';
import type { Store } from '../store/index.ts';
import type { Dispatch } from '../temporal/dispatch.ts';
import type { Engine } from '../temporal/engine.ts';
import type { ToolRunner } from '../toolrunner/runner.ts';
import { agentRoutes } from './agents.ts';
import { requireCaller } from './auth.ts';
import { builtinToolRoutes } from './builtin-tools.ts';
import { type ChatServices, chatRoutes } from './chat.ts';
import type { SharedWrite } from './crud.ts';
import { customToolRoutes } from './custom-tools.ts';
import { type DashboardSettings, serveDashboards } from './dashboard.ts';
import { serveDocs } from './docs.ts';
import { mcpDoor } from './doors/mcp.ts';
import { openaiDoor } from './doors/openai.ts';
import { guardrailRoutes } from './guardrails.ts';
import { type Checks, healthRoutes } from './health.ts';
import { idempotencyOf } from './idempotency.ts';
import type { IdentityCheck } from './identity.ts';
import { type KnowledgeService, knowledgeRoutes } from './knowledge.ts';
import { type McpProbe, mcpRoutes } from './mcps.ts';
import { meRoutes } from './me.ts';
import { memoryRoutes } from './memories.ts';
import { metricsRoute } from './metrics.ts';
import { type ModelLists, modelRoutes } from './models.ts';
import type { Api } from './mount.ts';
import { problemOf, sendProblem, unknownRoute } from './problems.ts';
import { providerRoutes } from './providers.ts';
import { type ScheduleServices, scheduledAgentRoutes } from './scheduled-agents.ts';
import { skillRoutes } from './skills.ts';
import { type BundleOf, taskRoutes } from './tasks.ts';
import { tokenRoutes } from './tokens.ts';
import { transferRoutes } from './transfer.ts';
import { webhookRoutes } from './webhooks.ts';
import { workflowRoutes } from './workflows.ts';

/** What the doors need; made in src/main. */
export interface Services {
  store: Store;
  engine: Engine;
  bus: EventBus;
  dispatch: Dispatch;
  runner: ToolRunner;
  models: ModelLists;
  mcp: McpProbe;
  knowledge: KnowledgeService;
  builtin_tools: BuiltinTool[];
  bundleOf: BundleOf;
  identify: IdentityCheck;
  checks: Checks;
  replies: ChatServices['replies'];
  guard: ChatServices['guard'];
  schedules: ScheduleServices['schedules'];
  fireNow: ScheduleServices['fireNow'];
}

export interface ApiSettings {
  version: string;
  admins: readonly string[];
  shared_write: SharedWrite;
  cors_origins: readonly string[];
  /** Requests a minute, for each caller. */
  rate_limit: number;
  metrics_token: string | null;
  log_level: string;
  dashboards: DashboardSettings;
}

const JSON_BYTES = 1024 * 1024;
const UPLOAD_BYTES = 25 * 1024 * 1024;

export async function buildApp(services: Services, settings: ApiSettings): Promise<FastifyInstance> {
  const http = Fastify({
    bodyLimit: JSON_BYTES,
    genReqId: () => uuid(),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500 },
    logger: { level: settings.log_level, redact: ['req.headers.authorization'] },
  });
  acceptEmptyJson(http);
  refuseInOurWords(http);
  if (settings.cors_origins.length > 0)
    await http.register(cors, { origin: [...settings.cors_origins], exposedHeaders: ['link', 'x-total-count', 'etag'] });
  await http.register(multipart, { limits: { fileSize: UPLOAD_BYTES, files: 1 } });

  const endpoints: Endpoint[] = [];
  const shared = { endpoints, idempotency: idempotencyOf(services.store.idempotency), closing: closingOf(http) };
  healthRoutes({ http, ...shared }, services);
  metricsRoute(http, settings.metrics_token);
  await http.register(async (guarded) => {
    requireCaller(guarded, { identify: services.identify, admins: settings.admins });
    await guarded.register(rateLimit, {
      max: settings.rate_limit,
      hook: 'preHandler',
      keyGenerator: (request) => request.caller.key,
    });
    mountResources({ http: guarded, ...shared }, services, settings);
    await guarded.register(async (door) => openaiDoor(door, services, shared.idempotency));
    await guarded.register(async (door) => mcpDoor(door, services, settings.version));
    endpoints.push(...(Object.values(doors) as unknown as Endpoint[]));
    // Unknown paths under /api ask for the token first, as known ones do.
    guarded.all('/api/*', async (request, reply) => sendProblem(request, reply, unknownRoute(request)));
  });
  await serveDocs(http, { endpoints, version: settings.version });
  await serveDashboards(http, settings.dashboards);
  return http;
}

/** How long requests under way may take to end when the server is to stop. */
const PATIENCE_MS = 10_000;
const SWEEP_MS = 50;

/** Aborted when the server is to stop: it takes nothing new then, ends its streams, and lets requests under way come to their end. */
function closingOf(http: FastifyInstance): AbortSignal {
  const closing = new AbortController();
  http.addHook('preClose', async () => {
    closing.abort();
    const timer = setTimeout(() => http.server.closeAllConnections(), PATIENCE_MS);
    // A connection whose last answer has just left would otherwise be kept for its client's next request.
    const sweep = setInterval(() => http.server.closeIdleConnections(), SWEEP_MS);
    http.server.once('close', () => {
      clearTimeout(timer);
      clearInterval(sweep);
    });
  });
  return closing.signal;
}

function mountResources(api: Api, services: Services, { shared_write }: ApiSettings): void {
  meRoutes(api);
  agentRoutes(api, services, shared_write);
  providerRoutes(api, services, shared_write);
  skillRoutes(api, services, shared_write);
  guardrailRoutes(api, services, shared_write);
  mcpRoutes(api, services, shared_write);
  memoryRoutes(api, services, shared_write);
  knowledgeRoutes(api, services, shared_write);
  transferRoutes(api, services);
  builtinToolRoutes(api, services);
  tokenRoutes(api, services, shared_write);
  customToolRoutes(api, services, shared_write);
  workflowRoutes(api, services);
  taskRoutes(api, services);
  modelRoutes(api, services);
  webhookRoutes(api, services);
  chatRoutes(api, services);
  scheduledAgentRoutes(api, services);
}

function refuseInOurWords(http: FastifyInstance): void {
  http.setErrorHandler((error: Error, request, reply) => {
    const problem = problemOf(error);
    if (problem.status >= 500) request.log.error({ err: error }, 'request failed');
    return sendProblem(request, reply, problem);
  });
  http.setNotFoundHandler((request, reply) => sendProblem(request, reply, unknownRoute(request)));
}

/** A POST that needs no body may still name JSON as its type. */
function acceptEmptyJson(http: FastifyInstance): void {
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(body as Buffer);
      done(null, text.trim() === '' ? undefined : JSON.parse(text));
    } catch (error) {
      done(Object.assign(new SyntaxError((error as Error).message), { statusCode: 400 }));
    }
  });
}
