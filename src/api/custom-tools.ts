import { v7 as uuid } from 'uuid';
import { type CustomTool, CustomToolCreate, customTools } from '../contracts/custom-tools.ts';
import { AppError, conflict, type FieldError, notFound, unprocessable } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';
import type { Resource } from '../store/resource.ts';
import type { ToolRunner } from '../toolrunner/runner.ts';
import { needsNetwork, resolveEnv } from '../tools/python.ts';
import type { Caller } from './auth.ts';
import { mountCrud, refuseForeign, type SharedWrite } from './crud.ts';
import { type Api, mount, type Upload } from './mount.ts';
import { changedTool, newTool, type ToolFields } from './tool-files.ts';
import { validated } from './validate.ts';

interface Services {
  store: Store;
  runner: ToolRunner;
}

export function customToolRoutes(api: Api, services: Services, shared_write: SharedWrite): void {
  const { store, runner } = services;
  const find = findIn(store);
  const create = async (fields: object) => shown(await store.customTools.create(await newTool(runner, fields as never)));
  const resource: Resource<CustomTool> = {
    async list(filter) {
      const page = await store.customTools.list(filter);
      return { ...page, items: page.items.map(shown) };
    },
    find: async (id) => {
      const tool = await store.customTools.find(id);
      return tool && shown(tool);
    },
    create,
    update: async (id, fields) =>
      shown(await store.customTools.update(id, await changedTool(runner, await find(id), fields as ToolFields))),
    remove: store.customTools.remove,
  };
  mountCrud(api, customTools, {
    store: resource,
    shared_write,
    check: ({ env_config }) => unknownEnvTokens(store, env_config as CustomTool['env_config']),
    async mayRemove({ id }) {
      if ((await find(id)).is_plugin) throw conflict('This tool came with the installation; disable it instead', 'plugin_tool');
    },
    users: ({ id }) => store.usersOf('customTool', id),
  });
  mount(api, customTools.upload, async ({ file }, caller) => create({ ...fileFields(file), created_by: caller.key }));
  mount(api, customTools.validate, async ({ body: { name, source_code } }) => {
    const { valid, inferred_schema, error } = await runner.inspect(name, source_code);
    return { valid, inferred_schema, error };
  });
  mount(api, customTools.run, async ({ params, body, signal }, caller) => {
    return runOnce(services, { tool: await find(params.id as string), args: body.arguments, caller }, signal);
  });
  envMappingRoutes(api, store, shared_write);
}

function envMappingRoutes(api: Api, store: Store, shared_write: SharedWrite): void {
  const find = findIn(store);
  const mappingOf = async ({ id, name, env_config = {} }: CustomTool, caller: Caller) => ({
    tool_id: id,
    tool_name: name,
    env_mapping: Object.fromEntries(
      Object.entries(env_config).map(([variable, { token_name }]) => [variable, token_name ?? null]),
    ),
    available_tokens: await store.tokens.usableBy(caller.key),
  });
  mount(api, customTools.getEnvMapping, async ({ params }, caller) => mappingOf(await find(params.id as string), caller));
  mount(api, customTools.setEnvMapping, async ({ params, body: { env_mapping } }, caller) => {
    const tool = await find(params.id as string);
    refuseForeign({ record: tool, noun: 'custom tool', shared_write }, caller);
    const config = structuredClone(tool.env_config ?? {});
    const undeclared = Object.keys(env_mapping).filter((variable) => !config[variable]);
    const errors = undeclared.map((variable) => ({
      path: `env_mapping.${variable}`,
      message: 'The tool does not declare this variable',
    }));
    for (const [variable, token_name] of Object.entries(env_mapping))
      if (config[variable]) config[variable].token_name = token_name;
    errors.push(...(await unknownEnvTokens(store, config)));
    if (errors.length > 0) throw unprocessable(errors);
    return mappingOf(await store.customTools.setEnvConfig(tool.id, config), caller);
  });
}

const findIn = (store: Store) => async (id: string) => {
  const tool = await store.customTools.find(id);
  if (!tool) throw notFound('custom tool', id);
  return tool;
};

/** Shown only when the tool declares variables. */
function shown({ env_config, ...tool }: CustomTool): CustomTool {
  return env_config && Object.keys(env_config).length > 0 ? { ...tool, env_config } : tool;
}

async function unknownEnvTokens(store: Store, config: CustomTool['env_config'] = {}): Promise<FieldError[]> {
  const names = Object.entries(config).flatMap(([variable, { token_name }]) => (token_name ? [{ variable, token_name }] : []));
  const known = await store.tokens.existing(names.map(({ token_name }) => token_name));
  const unknown = names.filter(({ token_name }) => !known.has(token_name));
  return unknown.map(({ variable, token_name }) => ({
    path: `env_config.${variable}`,
    message: `There is no stored token named ${token_name}`,
  }));
}

function fileFields({ filename, content }: Upload) {
  if (!filename.endsWith('.py'))
    throw new AppError('invalid', 'Upload a Python file: its name must end in .py', { code: 'not_python' });
  let source_code: string;
  try {
    source_code = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw unprocessable([{ path: 'file', message: 'The file is not UTF-8 text' }], 'invalid_tool');
  }
  return validated(CustomToolCreate, { name: filename.slice(0, -'.py'.length), source_code }, 'file');
}

interface AdHoc {
  tool: CustomTool;
  args: Record<string, unknown>;
  caller: Caller;
}

async function runOnce({ store, runner }: Services, { tool, args, caller }: AdHoc, signal: AbortSignal) {
  if (!tool.is_enabled) throw conflict('This tool is disabled; enable it first', 'tool_disabled');
  const { name, source_code: source, env_config = {} } = tool;
  const network = needsNetwork({ network: tool.network, env: env_config });
  const mapping = Object.fromEntries(
    Object.entries(env_config).map(([variable, { token_name }]) => [variable, token_name ?? null]),
  );
  const purpose = `tool ${name}, run by hand`;
  const resolved = await resolveEnv(mapping, (token) => store.tokens.valueOf({ name: token, principal: caller.key, purpose }));
  if ('refusal' in resolved) {
    const result = JSON.stringify({ error: resolved.refusal });
    return { tool_name: name, result, success: false, error: resolved.refusal, duration_ms: 0, stdout: '', stderr: '' };
  }
  const answer = await runner.run({ name, source, arguments: args, env: resolved.env, call_key: uuid(), network }, signal);
  const { result, error, duration_ms, stdout, stderr } = answer;
  return { tool_name: name, result, success: error === null, error, duration_ms, stdout, stderr };
}
