import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../api/app.ts';
import { auditSender } from '../../api/service/audit-sender.ts';
import { auditTrail } from '../../api/service/audit-trail.ts';
import type { DashboardSettings } from '../../api/service/dashboard.ts';
import { webhookSender } from '../../egress/webhook-sender.ts';
import { createChangeReaders } from '../../events/changes.ts';
import { withSharedPages } from '../../events/shared-pages.ts';
import { createStreamBudget } from '../../events/waiting.ts';
import { measureBudget } from '../../observe/measured.ts';
import { findModelPrice } from '../../runtimes/prices.ts';
import type { AuditStore } from '../../store/people/audit.ts';
import type { ScheduleRow } from '../../store/resources/scheduled-agents.ts';
import { createCaps } from '../../temporal/activities/caps.ts';
import { type Fire, serve } from '../../temporal/activities/fire.ts';
import { measureDisk } from '../../temporal/repair/sizes.ts';
import { builtinSpecs } from '../../tools/builtin/index.ts';
import type { RunControl, SharedServices } from '../core.ts';
import { requestLog } from '../log.ts';
import { DASHBOARDS } from '../places.ts';
import type { Resources } from '../resources.ts';
import { stateSource } from '../worker-port.ts';
import { createBrowserSignIn } from './browser-sign-in.ts';
import { createBundleBuilder } from './bundles.ts';
import { createChecks } from './checks.ts';
import { createKnowledgeService } from './knowledge.ts';
import { getApiSettings } from './limits.ts';
import { createMcpProbe } from './mcp-probe.ts';
import { createMcpSignIns } from './mcp-sign-ins.ts';
import { createMessageSender, openMailer } from './message-sender.ts';
import { createModelCatalogueService } from './model-catalogue.ts';
import { createModelLists } from './model-lists.ts';
import { argumentFitter } from './parsers.ts';
import { createFirePorts } from './runs/index.ts';
import { createStepRequestBuilder } from './step-requests.ts';

interface ApiOptions {
  resources: Resources;
  dashboards?: DashboardSettings;
  /** The destination of the request log. */
  log_to?: { write(line: string): void };
}

export async function openApi(
  core: SharedServices,
  driver: RunControl,
  { resources, dashboards = DASHBOARDS, log_to = requestLog() }: ApiOptions,
): Promise<FastifyInstance> {
  const { setting, store, bus, runner, identify, authorityOf, mayStart } = core;
  const { config } = setting;
  const caps = createCaps({ caps: store.caps, raise: driver.engine.raise });
  const changes = resources.hold(createChangeReaders({ bus, findOwner: store.workflows.findOwner }), (it) => it.close());
  const services = {
    store,
    changes,
    publishChange: core.publishChange,
    following: { bus, waiting: measureBudget(createStreamBudget(), core.meters), log: withSharedPages(store.events) },
    isCrowded: core.database.isCrowded,
    runner,
    ...driver,
    identify,
    authorityOf,
    mayStart,
    sign_in: createBrowserSignIn(core),
    audit: auditTrail({ store: openAuditStore(core, resources), stream: config.AUDIT_LOG ? log_to : null, log: core.log }),
    secrets: core.secrets,
    models: createModelLists(core),
    model_catalogue: createModelCatalogueService({ store, keeper: core.model_catalogue, fetch: core.egress.configuration.fetch }),
    checks: createChecks(core, driver),
    mailer: openMailer(config),
    sendMessage: createMessageSender(core),
    measureDisk: () => measureDisk(config.PERDURA_HOME),
    metrics: [core.meters.text, stateSource(core, driver)],
    judge: core.judge,
    admitBytes: core.quotas.admitBytes,
    wakeWaiting: caps.wake,
    knowledge: createKnowledgeService(core),
    fireNow: (row: ScheduleRow, fire: Fire) => serve(createFirePorts(core, driver), row, fire),
    mcp: createMcpProbe(core),
    mcpSignIns: createMcpSignIns(core),
    buildBundle: createBundleBuilder(core),
    buildStepRequest: createStepRequestBuilder(core),
    findModelPrice,
    fitArguments: argumentFitter(core),
    builtin_tools: builtinSpecs({ search_url: config.SEARCH_API_URL ?? null }),
  };
  const app = await buildApp(services, {
    version: setting.version,
    ...getApiSettings(config),
    answers_to: setting.answers_to,
    authorization: {
      issuer: (config.IDENTITY_PROVIDERS.includes('oidc') && config.OIDC_ISSUER) || null,
      public_url: setting.public_url,
    },
    log_to,
    tracing: core.tracing,
    dashboards,
  });
  app.addHook('onListen', async () => {
    // It listens on ports only; the address of a socket file would be a text.
    for (const { port } of app.addresses() as AddressInfo[]) core.egress.own_ports.add(port);
  });
  return resources.hold(app, (it) => it.close());
}

/** Opens the store of audit entries; with a webhook, entries are sent from there. */
function openAuditStore(
  { store, setting: { config }, egress, log }: Pick<SharedServices, 'store' | 'setting' | 'egress' | 'log'>,
  resources: Resources,
): Pick<AuditStore, 'add'> {
  const { AUDIT_WEBHOOK_URL: url, AUDIT_WEBHOOK_SECRET: secret } = config;
  if (!url) return store.audit;
  const sendWebhook = webhookSender({ fetch: egress.installation, listSecrets: async () => [secret!] });
  const sender = resources.hold(auditSender({ queue: store.auditQueue, sendWebhook, url, log }), (it) => it.stop());
  return {
    async add(entries) {
      await store.audit.add(entries, { queued: true });
      sender.wake();
    },
  };
}
