import { v7 as uuid } from 'uuid';
import type { BuiltinTool } from '../../contracts/builtin-tools.ts';
import type { Warning } from '../../contracts/common.ts';
import { type CustomTool, CustomToolCreate, type CustomToolValues, customTools } from '../../contracts/custom-tools.ts';
import { toolDestination } from '../../domain/destinations.ts';
import { AppError, conflict, notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Records } from '../../store/database/resource.ts';
import type { Store } from '../../store/index.ts';
import type { ToolRunner } from '../../toolrunner/runner.ts';
import type { FitArguments } from '../../tools/arguments.ts';
import { resolveEnv } from '../../tools/python.ts';
import { ToolUnreachable } from '../../tools/source.ts';
import { createTokenChecks } from '../checks/needs.ts';
import { listVariableWarnings } from '../checks/tool-tokens.ts';
import { mountCrud, type NewRecord, refuseForeign, type SharedWrite } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import type { Upload } from '../http/uploads.ts';
import { parseValue, toReply } from '../http/validate.ts';
import { buildTool, buildToolChanges, listNetworkWarnings, type ToolFields } from './tool-files.ts';

interface Services {
  store: Store;
  runner: ToolRunner;
  fitArguments: FitArguments;
  builtin_tools: BuiltinTool[];
}

export function customToolRoutes(api: Api, services: Services, shared_write: SharedWrite): void {
  const { store, runner } = services;
  const getTool = getExistingTool(store);
  const create = async (fields: NewRecord<CustomToolValues>, by?: string) =>
    dropEmptyEnv(await store.customTools.create(await buildTool(runner, fields), by));
  const resource: Records<CustomTool, NewRecord<CustomToolValues>, ToolFields> = {
    find: async (id) => {
      const tool = await store.customTools.find(id);
      return tool && dropEmptyEnv(tool);
    },
    create,
    update: async (id, fields, by) =>
      dropEmptyEnv(await store.customTools.update(id, await buildToolChanges(runner, await getTool(id), fields), by)),
    remove: store.customTools.remove,
  };
  mountCrud(api, customTools, {
    store: resource,
    async list(query) {
      const page = await store.customTools.list(query);
      return { ...page, items: page.items.map(dropEmptyEnv) };
    },
    shared_write,
    async check(values, _, { id, warn }) {
      warn(...(await listNetworkWarnings(runner, { ...(id ? { name: (await getTool(id)).name } : {}), ...values })));
      return [];
    },
    listWarnings: async ({ name }) => listNameWarnings(String(name), services.builtin_tools),
    listRunWarnings: async (tool) => listVariableWarnings(tool),
    tokenChecks: createEnvTokenChecks(store),
    async mayRemove({ id }) {
      if ((await getTool(id)).is_plugin)
        throw conflict('This tool came with the installation; disable it instead', 'plugin_tool');
    },
    users: ({ id }, { key }) => store.usersOf('customTool', id, key),
  });
  mount(api, customTools.upload, async ({ file, warn }, caller) => {
    const fields = parseToolFile(file);
    warn(...listNameWarnings(fields.name, services.builtin_tools));
    return create({ ...fields, created_by: caller.key }, caller.key);
  });
  mount(api, customTools.validate, async ({ body: { name, source_code } }) => {
    const { valid, inferred_schema, error } = await runner.inspect(name, source_code);
    return { valid, inferred_schema, error };
  });
  mount(api, customTools.run, async ({ params, body, signal }, caller) => {
    return runOnce(services, { tool: await getTool(params.id as string), args: body.arguments, caller }, signal);
  });
  envMappingRoutes(api, store, shared_write);
}

function envMappingRoutes(api: Api, store: Store, shared_write: SharedWrite): void {
  const getTool = getExistingTool(store);
  const toMapping = async ({ id, name, env_config = {} }: CustomTool, caller: Caller) => ({
    tool_id: id,
    tool_name: name,
    env_mapping: Object.fromEntries(
      Object.entries(env_config).map(([variable, { token_name }]) => [variable, token_name ?? null]),
    ),
    available_tokens: await store.tokens.listNames(caller.key),
  });
  mount(api, customTools.getEnvMapping, async ({ params, warn }, caller) => {
    const tool = await getTool(params.id as string);
    const warnings = [...(await createEnvTokenChecks(store).listWarnings(tool, caller)), ...listVariableWarnings(tool)];
    warn(...warnings.map(toMappingWarning));
    return toMapping(tool, caller);
  });
  mount(
    api,
    customTools.setEnvMapping,
    async ({ params, body: { env_mapping }, warn }, caller) => {
      const tool = await getTool(params.id as string);
      refuseForeign({ record: tool, noun: 'custom tool', shared_write }, caller);
      const env_config = fillVariables(tool, env_mapping);
      const warnings = await createEnvTokenChecks(store).listWarnings({ env_config }, caller);
      warn(...warnings.map(toMappingWarning));
      return toMapping(await store.customTools.update(tool.id, { env_config }, caller.key), caller);
    },
    {
      current: async ({ params }, caller) =>
        toReply(customTools.getEnvMapping.reply, await toMapping(await getTool(params.id as string), caller)),
    },
  );
}

/** Returns the variables of a tool with the named tokens; throws a 422 that lists those that the tool does not declare. */
function fillVariables(tool: CustomTool, mapping: Record<string, string | null>) {
  const config = structuredClone(tool.env_config!);
  const undeclared_variables = Object.keys(mapping).filter((variable) => !config[variable]);
  const errors = undeclared_variables.map((variable) => ({
    path: `env_mapping.${variable}`,
    message: 'The tool does not declare this variable',
  }));
  if (errors.length > 0) throw unprocessable(errors);
  for (const [variable, token_name] of Object.entries(mapping)) config[variable]!.token_name = token_name;
  return config;
}

const toMappingWarning = ({ path, message }: Warning): Warning => ({ path: path.replace('env_config', 'env_mapping'), message });

const createEnvTokenChecks = (store: Store) =>
  createTokenChecks(store, ({ env_config }: Partial<CustomTool>) =>
    Object.entries(env_config ?? {}).map(([variable, { token_name: token }]) => ({ path: `env_config.${variable}`, token })),
  );

const getExistingTool = (store: Store) => async (id: string) => {
  const tool = await store.customTools.find(id);
  if (!tool) throw notFound('custom tool', id);
  return tool;
};

/** Returns the tool with `env_config` only if it declares variables. */
function dropEmptyEnv({ env_config, ...tool }: CustomTool): CustomTool {
  return env_config && Object.keys(env_config).length > 0 ? { ...tool, env_config } : tool;
}

function listNameWarnings(name: string, builtin_tools: BuiltinTool[]): Warning[] {
  if (!builtin_tools.some((builtin) => builtin.name === name)) return [];
  const message = `\`${name}\` is the name of a built-in tool, too; for an agent that has both, this one is called custom_${name}`;
  return [{ path: 'name', message }];
}

function parseToolFile({ filename, content }: Upload) {
  if (!filename.endsWith('.py'))
    throw new AppError('invalid', 'Upload a Python file: its name must end in .py', { code: 'not_python' });
  let source_code: string;
  try {
    source_code = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw unprocessable([{ path: 'file', message: 'The file is not UTF-8 text' }], 'invalid_tool');
  }
  return parseValue(CustomToolCreate, { name: filename.slice(0, -'.py'.length), source_code }, 'file');
}

interface AdHoc {
  tool: CustomTool;
  args: Record<string, unknown>;
  caller: Caller;
}

async function runOnce({ store, runner, fitArguments }: Services, { tool, args, caller }: AdHoc, signal: AbortSignal) {
  if (!tool.is_enabled) throw conflict('This tool is disabled; enable it first', 'tool_disabled');
  const { name, source_code: source, parameters_schema, network, env_config = {} } = tool;
  const mapping = Object.fromEntries(
    Object.entries(env_config).map(([variable, { token_name }]) => [variable, token_name ?? null]),
  );
  const call = { arguments: args, run: { owner: caller.key } };
  const fit = await fitArguments({ name, parameters: parameters_schema }, call).catch((error: unknown) => {
    if (error instanceof ToolUnreachable) return { refusal: error.message };
    throw error;
  });
  if ('refusal' in fit) return notRun(name, fit.refusal);
  const resolved = await resolveEnv(mapping, (token, variable) =>
    store.tokens.open({ name: token, principal: caller.key, destination: toolDestination(tool, variable) }),
  );
  if ('refusal' in resolved) return notRun(name, resolved.refusal);
  const answer = await runner.run(
    { name, source, arguments: fit.arguments, env: resolved.env, call_key: uuid(), network },
    signal,
  );
  const { result, error, duration_ms, stdout, stderr } = answer;
  return { tool_name: name, result, success: error === null, error, duration_ms, stdout, stderr };
}

/** Returns the reply to a call that never reached the tool. */
const notRun = (tool_name: string, error: string) => {
  return { tool_name, result: JSON.stringify({ error }), success: false, error, duration_ms: 0, stdout: '', stderr: '' };
};
