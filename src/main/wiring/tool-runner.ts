import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { NoInterpreter, runnerWithoutPython, startToolRunner } from '../../toolrunner/index.ts';
import type { ToolRunnerOptions } from '../../toolrunner/options.ts';
import type { PythonToolRunner } from '../../toolrunner/python-tool-runner.ts';
import { toWorkspacesPath } from '../../tools/workspaces.ts';
import type { Config } from '../config.ts';

type Surroundings = Pick<ToolRunnerOptions, 'egress_allow' | 'own_ports'> & { log(message: string): void };

/** Opens the tool runner. Without Python everything else works, unless the operator named an interpreter: then it throws. */
export async function openToolRunner(config: Config, surroundings: Surroundings): Promise<PythonToolRunner> {
  try {
    return await startToolRunner({
      ...surroundings,
      ...getToolRunnerSettings(config),
      python: await toolsPython(config),
    });
  } catch (error) {
    if (!(error instanceof NoInterpreter) || config.TOOLRUNNER_PYTHON) throw error;
    surroundings.log(`Tools do not run. ${error.message}`);
    return runnerWithoutPython(error);
  }
}

/** Returns what the environment sets of the tool runner. */
export const getToolRunnerSettings = (config: Config) => ({
  preload: config.TOOLRUNNER_PRELOAD,
  isolation: config.TOOL_ISOLATION,
  workspaces: toWorkspacesPath(config),
  host_paths: { allow: config.MCP_PATHS, closed: [config.PERDURA_HOME] },
});

/**
 * Returns the interpreter of custom tools: the configured one, otherwise the environment made by `perdura tools install`,
 * otherwise python3.
 */
export async function toolsPython({ TOOLRUNNER_PYTHON, PERDURA_HOME }: Config): Promise<string> {
  const own = join(PERDURA_HOME, 'tools-venv/bin/python');
  const has_own = await access(own).then(
    () => true,
    () => false,
  );
  return TOOLRUNNER_PYTHON ?? (has_own ? own : 'python3');
}
