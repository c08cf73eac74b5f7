import { BYTE_LIMITS } from '../../egress/counted-fetch.ts';
import { hostPathOf } from '../../toolrunner/index.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connection.ts';
import { launcherOf } from './packages/launch.ts';
import { ConfinedStdio, type StartConfined } from './stdio.ts';

type StdioTarget = McpTarget & { endpoint: { kind: 'stdio' } };

/** A server that is a command. Its package is installed first if it has one, and only that has network access for it. */
export function stdioTransport({ name, endpoint, network, paths }: StdioTarget, ports: ConnectPorts): ConfinedStdio {
  const { startConfined, packages, message_bytes = BYTE_LIMITS.message } = ports;
  if (!startConfined)
    throw new Error(`The MCP server ${name} is a command, and this installation starts none; set ALLOW_STDIO_MCP`);
  const { command, args, env, launch } = endpoint;
  const confined = { command, args, env, network, paths: paths.map(hostPathOf) };
  const start: StartConfined = async (wanted, signal) => {
    if (launch && packages) {
      const program = await packages.program(launch, env, ports.install_ms);
      return startConfined({ ...wanted, ...program, args: args.slice(launch.used) }, signal);
    }
    if (packages && launcherOf(command) && !network) throw new Error(notUnderstood(command));
    return startConfined(wanted, signal);
  };
  return new ConfinedStdio(start, confined, message_bytes);
}

const notUnderstood = (command: string) =>
  `mcp_install_failed: the arguments of ${command} do not name a package of a registry. Write them as \`npx -y NAME@VERSION …\` or \`uvx NAME@VERSION …\` (also with --package, --from or --with), without {{token:…}} in them, or turn \`network\` on, and the command downloads at each start`;
