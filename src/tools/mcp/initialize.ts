import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { isRecord } from '../../domain/records.ts';

/** The version of a server that names none: the one that the protocol assumes of a server without a header. */
const UNNAMED_VERSION = '2025-03-26';

type Fields = Record<string, unknown>;

/**
 * Repairs, in place, the answer to `initialize` as servers really send it, before the SDK's client checks it: null for what is
 * absent, no name or version of the server, no version of the protocol.
 */
export function tidyInitialized({ result }: { result: Fields }): void {
  if (typeof result.instructions !== 'string') delete result.instructions;
  const { protocolVersion: version } = result;
  result.protocolVersion = typeof version === 'string' || typeof version === 'number' ? String(version) : UNNAMED_VERSION;
  result.serverInfo = tidyInfo(result.serverInfo);
  result.capabilities = tidyCapabilities(result.capabilities);
}

/** Only the name and the version are read. */
const tidyInfo = (info: unknown): Fields => {
  const { name, version } = isRecord(info) ? info : {};
  return {
    name: typeof name === 'string' ? name : 'unknown',
    version: typeof version === 'string' ? version : 'unknown',
  };
};

/**
 * Returns the capabilities that Perdura reads. A server that names one at all has it; one without any statement of its
 * capabilities has tools.
 */
export function tidyCapabilities(capabilities: unknown): Pick<ServerCapabilities, 'tools' | 'resources' | 'prompts' | 'tasks'> {
  if (!isRecord(capabilities)) return { tools: {} };
  const { tools, resources, prompts, tasks } = capabilities;
  const has = (capability: unknown) => capability !== undefined && capability !== false;
  const tidy = (capability: unknown) => (isRecord(capability) && capability.listChanged === true ? { listChanged: true } : {});
  return {
    ...(has(tools) && { tools: tidy(tools) }),
    ...(has(resources) && { resources: tidy(resources) }),
    ...(has(prompts) && { prompts: {} }),
    ...(takesCallsAsTasks(tasks) && { tasks: { requests: { tools: { call: {} } } } }),
  };
}

const takesCallsAsTasks = (tasks: unknown): boolean => {
  const { requests } = Object(tasks) as { requests?: { tools?: { call?: unknown } } };
  return isRecord(requests?.tools?.call);
};
