import type { Warning } from '../../contracts/common.ts';
import type { CustomTool } from '../../contracts/custom-tools.ts';
import { conflict, unprocessable } from '../../domain/errors.ts';
import { withDeclared } from '../../domain/tool-env.ts';
import type { Inspection, ToolRunner } from '../../toolrunner/runner.ts';

type EnvConfig = NonNullable<CustomTool['env_config']>;

/** Fields of a tool in a request; omitted ones are read from the file. */
export interface ToolFields {
  name?: string | undefined;
  description?: string | undefined;
  source_code?: string | undefined;
  parameters_schema?: Record<string, unknown> | null | undefined;
  env_config?: EnvConfig | undefined;
  effect?: CustomTool['effect'] | undefined;
  network?: boolean | undefined;
}

/** Builds a new tool. Omitted fields are inferred from the file, which is parsed and never executed. */
export async function buildTool<F extends ToolFields & { name: string; source_code: string }>(runner: ToolRunner, fields: F) {
  const file = await inspectTool(runner, fields);
  return {
    ...fields,
    description: fields.description || file.description,
    parameters_schema: fields.parameters_schema ?? file.inferred_schema,
    env_config: withDeclared(fields.env_config ?? {}, file.env),
    effect: fields.effect ?? file.effect ?? 'write',
    network: fields.network ?? file.network ?? false,
  };
}

/** Builds the changes of a tool. A new name or source is inspected again, and its schema inferred unless one is sent. */
export async function buildToolChanges(runner: ToolRunner, tool: CustomTool, fields: ToolFields): Promise<object> {
  const changes_code = fields.name !== undefined || fields.source_code !== undefined;
  if (tool.is_plugin && changes_code)
    throw conflict('This tool came with the installation; its name and source cannot be changed', 'plugin_tool');
  const infers = changes_code || fields.parameters_schema === null;
  if (!infers) return fields;
  const file = await inspectTool(runner, { name: fields.name ?? tool.name, source_code: fields.source_code ?? tool.source_code });
  return {
    ...fields,
    parameters_schema: fields.parameters_schema ?? file.inferred_schema,
    env_config: withDeclared(fields.env_config ?? tool.env_config!, file.env),
    ...(fields.effect === undefined && file.effect ? { effect: file.effect } : {}),
    // A new source that does not declare network use has none.
    ...(fields.network === undefined && fields.source_code !== undefined ? { network: file.network ?? false } : {}),
  };
}

/** Warns about a tool that gets secrets and does not declare network use. In earlier releases, secrets alone granted it. */
export async function listNetworkWarnings(
  runner: ToolRunner,
  { name = 'tool', source_code, network }: ToolFields,
): Promise<Warning[]> {
  if (source_code === undefined || network !== undefined) return [];
  const file = await runner.inspect(name, source_code);
  if (file.network !== null || Object.keys(file.env).length === 0) return [];
  const message =
    'The tool declares variables and has no network access: write NETWORK = True if it needs access, NETWORK = False if it does not';
  return [{ path: 'source_code', message }];
}

async function inspectTool(
  runner: ToolRunner,
  { name, source_code }: { name: string; source_code: string },
): Promise<Inspection> {
  const file = await runner.inspect(name, source_code);
  if (!file.valid) throw unprocessable([{ path: 'source_code', message: file.error! }], 'invalid_tool');
  return file;
}
