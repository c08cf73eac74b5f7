import { findOutsideRefusal } from '../../domain/outside.ts';
import { BYTE_LIMITS } from '../../egress/counted-fetch.ts';
import { parseHostPath } from '../../toolrunner/index.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { findLauncher, type PackageLaunch } from './packages/launch.ts';
import { ConfinedStdio, type StartConfined } from './stdio.ts';
import { createUnreachableError } from './unreachable.ts';

type StdioTarget = McpTarget & { endpoint: { kind: 'stdio' } };

/** True if the server is a command. */
export const isCommand = (target: McpTarget): target is StdioTarget => target.endpoint.kind === 'stdio';

/**
 * Prepares to start a server that is a command, and returns what starts it, as often as needed. Its package, if it has one, is
 * installed first; only the installation has network access for that.
 */
export async function prepareCommand(target: StdioTarget, ports: ConnectPorts): Promise<() => ConfinedStdio> {
  const { name, endpoint, network, paths } = target;
  const { packages, message_bytes = BYTE_LIMITS.message } = ports;
  const { command, args, env, launch } = endpoint;
  let transport: ConfinedStdio | undefined;
  const start = await openStart(target, ports, (refusal) => transport?.onerror?.(refusal));
  if (packages && !launch && findLauncher(command) && !network) throw createUnreachableError(name, notUnderstood(command));
  const program = launch && packages && (await installProgram(target, launch, ports));
  const confined = { command, args, env, network, paths: paths.map(parseHostPath) };
  const started = program ? { ...confined, ...program, args: args.slice(launch.used) } : confined;
  return () => {
    transport = new ConfinedStdio(start, started, message_bytes);
    return transport;
  };
}

/** Returns the function that starts the server's process: in its state, if it keeps one. */
async function openStart(
  { id: server_id, name, state: keeps_state }: StdioTarget,
  { startConfined, state, principal }: ConnectPorts,
  onFull: (refusal: Error) => void,
): Promise<StartConfined> {
  if (!startConfined)
    throw new Error(`The MCP server ${name} is a command, and this installation starts none; set ALLOW_STDIO_MCP`);
  if (!keeps_state || !state || !principal) return startConfined;
  return state.open({ server_id, principal }, startConfined, onFull).catch((error: Error) => {
    throw findOutsideRefusal(error) ? createUnreachableError(name, error.message, error) : error;
  });
}

function installProgram({ name, endpoint }: StdioTarget, launch: PackageLaunch, { packages, install_ms, report }: ConnectPorts) {
  const onInstall = () =>
    report?.(`Installing ${launch.specs.join(', ')} for the MCP server ${name}: once, which can take some minutes`);
  return packages?.program(launch, endpoint.env, { patience_ms: install_ms, onInstall }).catch((error: Error) => {
    throw createUnreachableError(name, error.message, error);
  });
}

const notUnderstood = (command: string) =>
  `mcp_install_failed: the arguments of ${command} do not name a package of a registry. Write them as \`npx -y NAME@VERSION …\` or \`uvx NAME@VERSION …\` (also with --package, --from or --with), without {{token:…}} in them, or turn \`network\` on, and the command downloads at each start`;
