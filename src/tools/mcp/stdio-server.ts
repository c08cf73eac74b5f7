import { BYTE_LIMITS } from '../../egress/counted-fetch.ts';
import { parseHostPath } from '../../toolrunner/index.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { findLauncher } from './packages/launch.ts';
import { ConfinedStdio } from './stdio.ts';
import { createUnreachableError } from './unreachable.ts';

type StdioTarget = McpTarget & { endpoint: { kind: 'stdio' } };

/**
 * Starts a server that is a command. Its package, if it has one, is installed first; only the installation has network access
 * for that.
 */
export async function stdioTransport(
  { name, endpoint, network, paths }: StdioTarget,
  ports: ConnectPorts,
): Promise<ConfinedStdio> {
  const { startConfined, packages, install_ms, report, message_bytes = BYTE_LIMITS.message } = ports;
  if (!startConfined)
    throw new Error(`The MCP server ${name} is a command, and this installation starts none; set ALLOW_STDIO_MCP`);
  const { command, args, env, launch } = endpoint;
  const confined = { command, args, env, network, paths: paths.map(parseHostPath) };
  if (launch && packages) {
    const onInstall = () =>
      report?.(`Installing ${launch.specs.join(', ')} for the MCP server ${name}: once, which can take some minutes`);
    const program = await packages.program(launch, env, { patience_ms: install_ms, onInstall }).catch((error: Error) => {
      throw createUnreachableError(name, error.message, error);
    });
    return new ConfinedStdio(startConfined, { ...confined, ...program, args: args.slice(launch.used) }, message_bytes);
  }
  if (packages && findLauncher(command) && !network) throw createUnreachableError(name, notUnderstood(command));
  return new ConfinedStdio(startConfined, confined, message_bytes);
}

const notUnderstood = (command: string) =>
  `mcp_install_failed: the arguments of ${command} do not name a package of a registry. Write them as \`npx -y NAME@VERSION …\` or \`uvx NAME@VERSION …\` (also with --package, --from or --with), without {{token:…}} in them, or turn \`network\` on, and the command downloads at each start`;
