import { join } from 'node:path';
import { waitForLock } from '../../embedded/lock-file.ts';
import type { PythonToolRunner } from '../../toolrunner/python-tool-runner.ts';
import { createMcpPackages, type McpPackages } from '../../tools/mcp/packages/cache.ts';
import type { Config } from '../config.ts';

const MIB = 1024 * 1024;
const PACKAGE_MB = 1_024;

/** Returns the folder of packages, inside `cache`, which backups omit. */
export const packagesFolder = ({ PERDURA_HOME }: Pick<Config, 'PERDURA_HOME'>) => join(PERDURA_HOME, 'cache', 'mcp-packages');

/** Returns what the environment sets of these packages. */
export const getPackageSettings = (config: Config) => ({
  folder: packagesFolder(config),
  registries: { npm: config.MCP_NPM_REGISTRY, pypi: config.MCP_PYPI_INDEX },
  total_bytes: config.MCP_PACKAGES_MB * MIB,
});

/** Opens the packages of the MCP servers that `npx` and `uvx` start. */
export const openMcpPackages = (config: Config, { startConfined, interpreter }: PythonToolRunner): McpPackages =>
  createMcpPackages({
    startConfined,
    interpreter,
    ...getPackageSettings(config),
    max_bytes: PACKAGE_MB * MIB,
    lock: (file) => waitForLock(file, () => {}),
  });
