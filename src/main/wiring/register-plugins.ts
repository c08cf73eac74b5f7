import type { CustomTool } from '../../contracts/custom-tools.ts';
import { AppError } from '../../domain/errors.ts';
import { INSTALLATION } from '../../domain/installation.ts';
import { withDeclared } from '../../domain/tool-env.ts';
import { listPlugins } from '../../toolrunner/index.ts';
import type { SharedServices } from '../core.ts';

/** Registers the bundled tools next to the users' own. People's settings on them (variables, enabled or not) are kept. */
export async function registerPlugins({ store, runner, log }: Pick<SharedServices, 'store' | 'runner' | 'log'>): Promise<void> {
  for (const { name, source: source_code } of await listPlugins()) {
    const {
      valid,
      error,
      description,
      inferred_schema: parameters_schema,
      effect,
      network,
      env,
    } = await runner.inspect(name, source_code);
    const existing = await store.customTools.findNamed(name);
    if (!valid || (existing && !existing.is_plugin)) {
      log(
        valid
          ? `The bundled tool ${name} is left out: a tool of this name exists`
          : `The bundled tool ${name} is left out: ${error}`,
      );
      continue;
    }
    const fields = {
      source_code,
      description,
      parameters_schema,
      effect: effect ?? 'write',
      network: network ?? false,
      is_plugin: true,
    };
    const env_config: CustomTool['env_config'] = withDeclared(existing?.env_config ?? {}, env);
    if (existing) await store.customTools.update(existing.id, { ...fields, env_config });
    else await store.customTools.create({ ...fields, env_config, name, created_by: INSTALLATION }).catch(unlessTaken);
  }
}

/**
 * Ignores a conflict: several processes of one version may start at the same moment, and the first has registered the same tool.
 */
function unlessTaken(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'name_taken') throw error;
}
