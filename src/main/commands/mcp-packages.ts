import { clearPackages, listInstalledPackages } from '../../tools/mcp/packages/cache.ts';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { print, sayJson } from '../terminal.ts';
import { packagesFolder } from '../wiring/mcp-packages.ts';

/** `perdura mcp-packages ls` and `clear`: lists or removes the packages of MCP servers that `npx` and `uvx` start. */
export default async function runMcpPackages(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('mcp-packages', args);
  const folder = packagesFolder(config);
  const shown = (packages: Installed[]) => packages.map(({ directory: _, ...it }) => it);
  if (given.verb === 'clear') {
    const removed = await clearPackages(folder, given.words[0]);
    return given.has('json') ? sayJson(shown(removed)) : print(formatRemoved(removed, given.words[0]));
  }
  const installed = await listInstalledPackages(folder);
  if (given.has('json')) return sayJson(shown(installed));
  print(installed.map(line).join('') || 'No packages of MCP servers are installed.\n');
}

type Installed = Awaited<ReturnType<typeof listInstalledPackages>>[number];

const mib = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024)} MiB`;
const line = ({ registry, specs, installed_at, bytes }: Installed) =>
  `${installed_at}  ${registry}  ${mib(bytes)}  ${specs.join(' ')}\n`;

function formatRemoved(removed: Installed[], spec: string | undefined): string {
  if (removed.length === 0) return `Nothing is installed${spec ? ` as ${spec}; perdura mcp-packages ls lists what is` : ''}.\n`;
  return `Removed ${removed.map(({ specs }) => specs.join(' ')).join(', ')}. The next start of a server installs its package again.\n`;
}
