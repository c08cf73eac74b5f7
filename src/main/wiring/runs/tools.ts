import type { LogData } from '../../../contracts/events.ts';
import type { Definition, PinnedMcpServer } from '../../../domain/definition.ts';
import { mcpDestination } from '../../../domain/destinations.ts';
import { secretRefusal } from '../../../domain/errors.ts';
import { ModelFailure } from '../../../domain/model-failure.ts';
import { findOutsideRefusal } from '../../../domain/outside.ts';
import { storable } from '../../../domain/transcript.ts';
import { createTaskEvents, type NewEvent } from '../../../events/task-events.ts';
import type { OpenRun } from '../../../store/runs/runs.ts';
import type { CallPlace } from '../../../store/runs/tool-ledger.ts';
import type { ToolsAsked } from '../../../temporal/activities/tools-asked.ts';
import { createAgentToolbox, type Toolbox, type ToolPorts, type Toolset } from '../../../tools/for-agent.ts';
import { createPersonalFetch } from '../../../tools/mcp/bearer.ts';
import type { OpenServerToken } from '../../../tools/mcp/config.ts';
import { discover } from '../../../tools/mcp/discover.ts';
import { createMcpPool, type McpPool } from '../../../tools/mcp/pool.ts';
import type { McpToolPorts } from '../../../tools/mcp/tools.ts';
import type { SharedServices } from '../../core.ts';
import { openMcpState } from '../mcp-state.ts';
import { schemaJudge } from '../parsers.ts';

const now = () => new Date().toISOString();

/** The services that a pool of connections to MCP servers uses. */
export type McpServices = Pick<SharedServices, 'setting' | 'runner' | 'mcp_packages' | 'egress' | 'parsers' | 'store'>;

/** Opens a worker's connections to MCP servers. */
export const openMcpPool = ({ setting, runner, mcp_packages, egress, parsers, store }: McpServices): McpPool =>
  createMcpPool({
    startConfined: setting.config.ALLOW_STDIO_MCP ? runner.startConfined : null,
    packages: mcp_packages,
    state: openMcpState(setting.config),
    fetch: egress.configuration.fetch,
    fetchFor: createPersonalFetch(egress.configuration.fetch, store.mcpSignIns),
    message_bytes: egress.limits.message,
    schemaFaults: schemaJudge(parsers, setting.config),
    version: setting.version,
  });

export function mcpPorts({ store }: Pick<SharedServices, 'store'>, pool: McpPool): McpToolPorts {
  return {
    pool,
    openConfig: async (server: PinnedMcpServer) => {
      const connection_config = store.mcpServers.sealer.open(server.connection_config);
      return { ...server, connection_config };
    },
    openToken: (name, server, { owner, task_id }) =>
      store.tokens.open({ name, principal: owner, destination: mcpDestination(server), task_id }),
  };
}

/** The tools of a run. At its first step the servers are asked, and their answer is pinned with the task. */
export function runTools(shared: Pick<SharedServices, 'store' | 'secrets' | 'log'>, ports: ToolPorts) {
  const { store, secrets } = shared;
  return async ({ run, definition, runtime, ready, publish }: ToolsAsked, signal: AbortSignal): Promise<Toolbox> => {
    const { custom_tools } = runtime;
    const here = withoutVendorTools(definition, runtime);
    const buildToolbox = (toolset: Toolset | null) => createAgentToolbox(here, ports, { custom_tools, toolset });
    if (run.toolset || !here.mcp_servers.length) return buildToolbox(run.toolset as Toolset | null);
    await ready;
    const openToken: OpenServerToken = (name, server) => ports.mcp.openToken(name, server, run);
    const listed = await listRecent(shared, here.mcp_servers, run.owner);
    const report = (sentence: string) => {
      const progress = createTaskEvents(run.task_id, now).log('progress', storable(secrets.redact.text(sentence)));
      publish?.([progress]).catch((error: Error) => shared.log(`Progress was not published: ${error.message}`));
    };
    const servers = { ...ports.mcp, openToken, principal: run.owner, listed, report };
    const discovery = await discover(here.mcp_servers, servers, signal);
    const { listings, ...shown } = discovery;
    const { tools, notes, missing, lost } = secrets.redact.value(shown);
    await saveListings(shared, { listings, principal: run.owner });
    if (missing.length > 0) throw withoutServers(missing);
    const toolset = { mcp: tools };
    const box = buildToolbox(toolset);
    const { log } = createTaskEvents(run.task_id, now);
    const events: NewEvent[] = notes.map(({ event, detail, ...fields }) => log(event, detail, fields));
    for (const { server, tools: names = [], reason } of lost) {
      const what = `${names.join(', ') || 'the tools'} of the MCP server ${server}`;
      events.push(log('tools_not_offered', `${what}: ${reason}`, { tools: names, server, reason }));
    }
    for (const sentence of await box.listRenamed(signal)) events.push(log('mcp_connected', sentence));
    return (await store.runs.freezeToolset(run, { toolset, events })) ? box : buildToolbox(await loadFrozenToolset(store, run));
  };
}

/** How long ago a server may have listed its tools so that a run waits for it if it is lost now. */
const RECENT_MS = 60 * 60_000;

/** Returns the ids of the servers that have listed tools a short time ago, as they are configured now. */
async function listRecent(
  { store }: Pick<SharedServices, 'store'>,
  servers: readonly PinnedMcpServer[],
  principal: string,
): Promise<Set<string>> {
  const ids = servers.map(({ id }) => id);
  const listings = await store.mcpListings.of(ids, principal);
  return new Set(ids.filter((id) => Date.now() - Date.parse(listings.get(id)?.listed_at ?? '') < RECENT_MS));
}

/** Stores what the servers listed, for readers of the servers. A failure does not fail the run. */
async function saveListings(
  { store, secrets, log: report }: Pick<SharedServices, 'store' | 'secrets' | 'log'>,
  { listings, principal }: { listings: Awaited<ReturnType<typeof discover>>['listings']; principal: string },
): Promise<void> {
  for (const { server, signed_in, tools } of listings) {
    const listing = { server, principal, signed_in, tools: secrets.redact.value(tools) };
    await store.mcpListings.save(listing).catch((error: Error) => report(`A listing was not stored: ${error.message}`));
  }
}

/** A missing grant or token, or a refused answer, needs a person, so the run fails at once. Any other problem may be gone at the next attempt. */
function withoutServers(missing: readonly Error[]): ModelFailure {
  const sentences = missing.map(({ message }) => message).join('. ');
  const code = missing.map((error) => secretRefusal(error) ?? findOutsideRefusal(error)?.code).find(Boolean);
  return code
    ? new ModelFailure(sentences, { code, recoverable: false })
    : new ModelFailure(`A required MCP server is out of reach. ${sentences}`, { code: 'mcp_unavailable', recoverable: true });
}

/** An agent's tools without those that run at the vendor. */
export function withoutVendorTools({ tools, mcp_servers = [] }: Definition, { vendor_tools }: ToolsAsked['runtime']) {
  if (!vendor_tools) return { tools, mcp_servers };
  return {
    tools: tools.filter((tool) => tool.kind !== 'builtin' || !vendor_tools.builtins.includes(tool.name)),
    mcp_servers: mcp_servers.filter(({ id }) => !vendor_tools.mcp_server_ids.includes(id)),
  };
}

/** Publishes the progress of a call. A failure to publish it does not fail the call. */
export function progressReporter({ store, log: report }: Pick<SharedServices, 'store' | 'log'>, call: CallPlace) {
  return (text: string, data: Pick<LogData<'progress'>, 'progress' | 'total'> = {}): void => {
    const progress = createTaskEvents(call.task_id, now).log('progress', storable(text), { call_id: call.call_id, ...data });
    store.ledger.publish(call, [progress]).catch((error: Error) => report(`Progress was not published: ${error.message}`));
  };
}

/** The tools that another attempt of the step pinned first. */
async function loadFrozenToolset(store: SharedServices['store'], { task_id }: OpenRun): Promise<Toolset | null> {
  return ((await store.runs.open(task_id, 1))?.toolset ?? null) as Toolset | null;
}
