import type { Definition } from '../../../domain/definition.ts';
import { providerDestination } from '../../../domain/destinations.ts';
import { deltaPublishers } from '../../../events/publisher.ts';
import { measurePool, measurePublishers, measureRuntime, measureWebhooks, timeWork } from '../../../observe/measured.ts';
import { findModelPrice, getPrices } from '../../../runtimes/prices.ts';
import { redactOutcome, redactRuntime } from '../../../runtimes/redacted.ts';
import type { ModelRuntime } from '../../../runtimes/runtime.ts';
import { type ModelCaller, selectRuntime } from '../../../runtimes/select.ts';
import type { OpenRun } from '../../../store/runs/runs.ts';
import { haltRegistry } from '../../../temporal/activities/attempt.ts';
import { createCaps } from '../../../temporal/activities/caps.ts';
import type { FirePorts } from '../../../temporal/activities/fire.ts';
import type { ActivityPorts } from '../../../temporal/activities/index.ts';
import { callQuestions, type QuestionPorts, questionPlaces } from '../../../temporal/activities/questions.ts';
import { reconcileEvaluations } from '../../../temporal/client/evaluations.ts';
import { createParkedRuns } from '../../../temporal/repair/parked-runs.ts';
import { raisePriced } from '../../../temporal/repair/raise-priced.ts';
import { reconcileMcpState, reconcileSchedules, reconcileWorkspaces } from '../../../temporal/repair/reconcile-schedules.ts';
import { reconcile } from '../../../temporal/repair/reconcile-tasks.ts';
import { countSlots } from '../../../temporal/worker/slots.ts';
import { selectRoles } from '../../../temporal/worker/worker.ts';
import { createAgentToolbox, type ToolPorts, type Toolset } from '../../../tools/for-agent.ts';
import { type RunContext, type ToolCall, ToolUncertain, ToolUnreachable, unreachableWhileDown } from '../../../tools/source.ts';
import { runWithinLimits, toWorkspaceLimits } from '../../../tools/workspace-limits.ts';
import type { Config } from '../../config.ts';
import type { RunControl, SharedServices } from '../../core.ts';
import { openMcpState } from '../mcp-state.ts';
import { createMessageSender } from '../message-sender.ts';
import { argumentFitter, pageReader } from '../parsers.ts';
import { getContextWindow, getRuntimeOptions, windowKeeper } from '../runtime-options.ts';
import { createTokenOpener } from '../tool-tokens.ts';
import { contextPorts, knowingPorts } from './context.ts';
import { createEvaluationCheck, graderCaller } from './graders.ts';
import { handedOverStarter } from './handed-over.ts';
import { createFileKeeper } from './kept-files.ts';
import { parkBehind, parkEnd } from './parking.ts';
import { runSecrets } from './secrets.ts';
import { runSessions } from './sessions.ts';
import { createTidying } from './tidying.ts';
import { mcpPorts, openMcpPool, progressReporter, runTools } from './tools.ts';
import { runWorkspaces } from './workspaces.ts';

/** Reports that a model is called, once its request is on its way. */
const reportRequests = (runtime: ModelRuntime, onAsked: () => void): ModelRuntime => ({
  ...runtime,
  exchange(...args) {
    const reply = runtime.exchange(...args);
    setImmediate(onAsked);
    return reply;
  },
});

const now = () => new Date().toISOString();

/** Returns how long runs wait for models and clients. */
export const getWaits = (config: Config) => ({
  longest_wait_ms: config.MODEL_RETRY_AFTER_MAX_SECONDS * 1_000,
  client_wait_ms: config.CLIENT_TOOL_SECONDS * 1_000,
});

/** Binds the engine's activities to the store, the runtimes and the tools. `unwatch` closes what they hold open. */
export async function createActivityPorts(
  core: SharedServices,
  driver: RunControl,
): Promise<{ ports: ActivityPorts; unwatch: () => Promise<void> }> {
  const { engine, settle } = driver;
  const { store, bus, setting, meters } = core;
  const halts = haltRegistry();
  const unsubscribe = bus.onHalt(halts.halt);
  const pool = measurePool(openMcpPool(core), meters);
  const tools = { ...toolPorts(core), mcp: mcpPorts(core, pool) };
  const workspaces = await runWorkspaces(core);
  const limits = toWorkspaceLimits(setting.config);
  const definition = (hash: string) => store.definitions.get(hash);
  const { secrets } = core;
  const openRuntime = async (run: OpenRun, pinned_definition: Parameters<typeof selectRuntime>[0], begun?: Promise<unknown>) => {
    const selecting = selectRuntime(pinned_definition, toModelCaller(core, run, begun), getRuntimeOptions(core));
    const selection = await selecting.catch((error: unknown) => Promise.reject(secrets.redact.error(error)));
    const runtime = measureRuntime(redactRuntime(selection.runtime, secrets.redact), selection.prices, meters);
    return { ...selection, runtime: reportRequests(runtime, () => core.starts.endTurn(run.task_id)) };
  };
  const asking = questionPorts(core, engine);
  const parked = createParkedRuns();
  const tidy = createTidying(core);
  const sessions = runSessions(core, { definition, openRuntime });
  const caps = createCaps({ caps: store.caps, raise: engine.raise });
  const ports: ActivityPorts = {
    runs: store.runs,
    ledger: store.ledger,
    forks: store.forks,
    halts,
    definition,
    now,
    openRuntime,
    async findPresentProvider(provider_id) {
      const provider = await store.providers.find(provider_id);
      return provider && { name: provider.name, prices: getPrices(provider) };
    },
    default_model: setting.default_runtime.model,
    selectAnswerer: (run, { provider, exchange_limits }) => openRuntime(run, { provider, exchange_limits }),
    endSession: sessions.endSession,
    file_takers: new Map(),
    loadResultFiles: (files, owner) =>
      store.attachments.contentsOf(
        files.map(({ id }) => id),
        owner,
      ),
    loadFiles: (files) => store.attachments.contents(files.map(({ id }) => id)),
    admit: (provider) => admit(core, provider),
    giveBack: (provider) => giveBack(core, provider),
    caps,
    reserveForStep: store.caps.reserveForStep,
    reserveAside: store.caps.reserveAside,
    listTools: runTools(core, tools),
    publisher: measurePublishers(deltaPublishers(), meters),
    ...getWaits(setting.config),
    async perform(opened_call, args, signal) {
      const { call_id, name, ...call } = opened_call;
      const pinned_definition = await definition(call.definition_hash);
      const { task_id, workflow_id, owner } = call;
      const { definition_hash } = call;
      const hold = workspaces.hold({
        task_id,
        owner,
        repository: pinned_definition.repository,
        workflow: pinned_definition.workflow,
      });
      const workspace = (until: AbortSignal) =>
        hold.directory(until).catch((error: Error) => Promise.reject(new ToolUnreachable(error.message, { cause: error })));
      const run = { task_id, workflow_id, owner, agent_id: pinned_definition.agent.id, definition_hash };
      const { redact } = secrets;
      const report = progressReporter(core, { task_id, workflow_id, call_id });
      const progress: ToolCall['progress'] = (text, data) => report(redact.text(text), redact.value(data));
      const questions = callQuestions(asking, opened_call, signal);
      const ask: ToolCall['ask'] = (question, until) => questions.ask(redact.value(question), until);
      const tool_call = { call_id, name, arguments: args, call_key: `${task_id}:${call_id}`, progress, ask };
      const rules = { custom_tools: pinned_definition.provider !== null, toolset: call.toolset as Toolset | null };
      const box = createAgentToolbox(pinned_definition, tools, rules);
      let wrote = false;
      const outcome = runWithinLimits(limits, ({ enter, full }) => {
        const enterWorkspace: RunContext['workspace'] = async (until, { reads_only } = { reads_only: false }) => {
          const directory = await workspace(until);
          if (reads_only) return directory;
          wrote = true;
          await enter(directory).catch(unreachableWhileDown);
          return directory;
        };
        return box.call({ ...tool_call, run: { ...run, workspace: enterWorkspace } }, AbortSignal.any([signal, full]));
      });
      const finished_outcome = outcome.finally(() => questions.end());
      const released_outcome = finished_outcome.finally(() => hold.release(wrote ? { call_id, name, ...call } : null, signal));
      const measured_outcome = timeWork(released_outcome, { signal, failed: ({ failed }) => failed }, (ended, seconds) =>
        meters.toolCalled({ tool: name, outcome: ended, seconds }),
      );
      return redactOutcome(measured_outcome, redact);
    },
    ...createFirePorts(core, driver),
    dispatch: driver.dispatch,
    evaluations: store.evaluations,
    publishChange: core.publishChange,
    authorizeEvaluation: createEvaluationCheck(core),
    public_url: core.setting.public_url,
    role_queues: core.setting.config.TEMPORAL_ROLE_QUEUES,
    listPromptReasons: core.judge.listPromptReasons,
    providerToPin: store.providerToPin,
    callGrader: graderCaller(core),
    ...contextPorts(core),
    webhooks: measureWebhooks(store.webhooks, meters),
    secrets: runSecrets(core),
    sendMessage: createMessageSender(core),
    findContextWindow: (run, pinned) => getContextWindow(core)(pinned, run.named_window),
    keepWindow: windowKeeper(core),
    findNamedWindow: async ({ provider, model }) => provider && store.windows.find(provider.id, model ?? ''),
    countFallback: meters.fellBack,
    workspaces,
    settle,
    parkBehind: parkBehind(core),
    doubtCalls: store.continuity.doubtCalls,
    parkEnd: parkEnd(core),
    startHandedOver: handedOverStarter({ store, engine, settle, definition, log: core.log }),
    halt: bus.halt,
    nudge: (task_id, call_id) => engine.decide(task_id, call_id),
    async reconcile() {
      // The epoch is checked before tasks are compared with the engine, because a restored record changes what a difference
      // means.
      await driver.epoch.look();
      // Alerts are measured before due messages are delivered.
      await store.alerts.measure(new Date()).catch((error: Error) => core.log(`Alerts were not measured: ${error.message}`));
      const settleLost = sessions.ending(settle);
      const done = await reconcile({ store, engine, settle: settleLost, definition, parked, now: () => new Date() });
      await store.caps.sweep();
      await caps.wake();
      await raisePriced({ store, engine, definition, findModelPrice });
      await reconcileSchedules(store, driver.schedules);
      await reconcileEvaluations(store, driver.evaluations);
      await reconcileWorkspaces(store, workspaces);
      await reconcileMcpState(store, openMcpState(setting.config));
      await sessions.endLeft();
      return { ...done, removed: await tidy() };
    },
    keepFiles: createFileKeeper(core),
    settleFiles: store.attachments.settleResult,
    isUnreachable: (error): error is ToolUnreachable => error instanceof ToolUnreachable,
    isUncertain: (error): error is ToolUncertain => error instanceof ToolUncertain,
  };
  const unwatch = async () => {
    unsubscribe();
    await pool.close();
    await workspaces.close();
  };
  return { ports: core.tracing?.ports(ports) ?? ports, unwatch };
}

/** Creates the ports through which a worker's calls ask people. */
const questionPorts = (
  { store, bus, setting: { config } }: Pick<SharedServices, 'store' | 'bus' | 'setting'>,
  engine: RunControl['engine'],
): QuestionPorts => {
  const roles = selectRoles(config.WORKER_ROLE, { role_queues: config.TEMPORAL_ROLE_QUEUES });
  return {
    ledger: store.ledger,
    onChange: bus.subscribe,
    show: ({ task_id, call_id }, is_asking) => engine.asking(task_id, { call_id, is_asking }),
    enter: questionPlaces(countSlots(config.WORKER_MAX_ACTIVITIES, roles.length)),
    wait_ms: getWaits(config).client_wait_ms,
    now,
  };
};

/** Creates the ports that turn a due schedule into a task. */
export const createFirePorts = (
  { store, mayStart }: Pick<SharedServices, 'store' | 'mayStart'>,
  { dispatch, schedules }: RunControl,
): FirePorts => ({
  schedules: store.scheduledAgents,
  tasks: store.tasks,
  workflows: store.workflows,
  dispatch,
  mayStart,
  forget: (schedule_id) => schedules.remove(schedule_id),
});

/** Spreads the waiting runs, so that they do not all call the provider at once. */
async function admit({ store }: Pick<SharedServices, 'store'>, provider: Definition['provider']): Promise<number> {
  if (!provider?.requests_per_minute) return 0;
  const wait_ms = await store.rates.admit(provider.id, provider.requests_per_minute);
  return wait_ms === 0 ? 0 : Math.round(wait_ms * (1 + Math.random()));
}

async function giveBack({ store }: Pick<SharedServices, 'store'>, provider: Definition['provider']): Promise<void> {
  if (provider?.requests_per_minute) await store.rates.giveBack(provider.id, provider.requests_per_minute);
}

/** Returns the principal in whose name a run's models and tools are used. */
function toModelCaller({ store }: Pick<SharedServices, 'store'>, run: OpenRun, begun?: Promise<unknown>): ModelCaller {
  return {
    get access_token() {
      return store.tasks.callerToken(run);
    },
    async openToken(name, provider) {
      await begun;
      const { owner: principal, task_id } = run;
      return store.tokens.open({ name, principal, destination: providerDestination(provider), task_id });
    },
  };
}

/** The services that built-in and custom tools use. */
export type ToolServices = Pick<SharedServices, 'runner' | 'egress' | 'setting' | 'store' | 'knowledge' | 'quotas' | 'parsers'>;

export function toolPorts(core: ToolServices): Omit<ToolPorts, 'mcp'> {
  const { runner, egress } = core;
  const { config } = core.setting;
  return {
    runner,
    ...knowingPorts(core),
    startConfined: runner.startConfined,
    fetch: egress.tools.fetch,
    readPage: pageReader(core),
    fitArguments: argumentFitter(core),
    bash_network: config.BASH_NETWORK,
    search_url: config.SEARCH_API_URL ?? null,
    searchFetch: egress.installation,
    openToken: createTokenOpener(core),
  };
}
