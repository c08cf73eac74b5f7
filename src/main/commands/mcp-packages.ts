import { clearPackages, listInstalledPackages } from '../../tools/mcp/packages/cache.ts';
import type { Config } from '../config.ts';
import { print } from '../terminal.ts';
import { packagesFolder } from '../wiring/mcp-packages.ts';

const USAGE = 'perdura mcp-packages ls [--json], or perdura mcp-packages clear [<package>]';

/** `perdura mcp-packages ls` and `clear`: lists or removes the packages of MCP servers that `npx` and `uvx` start. */
export default async function runMcpPackages(config: Config, [verb = 'ls', ...rest]: string[]): Promise<void> {
  const folder = packagesFolder(config);
  const [option] = rest;
  if (rest.length > 1 || !['ls', 'clear'].includes(verb) || (verb === 'ls' && option !== undefined && option !== '--json'))
    throw new Error(`Write ${USAGE}`);
  if (verb === 'clear') return print(formatRemoved(await clearPackages(folder, option), option));
  const installed = await listInstalledPackages(folder);
  if (option === '--json') return print(`${JSON.stringify(installed.map(({ directory: _, ...shown }) => shown))}\n`);
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
