import { z } from 'zod';
import { alsoTaken, JsonRecord, Name, Needs, Tags, TOOL_EFFECTS, toolSchema, toPatchSchema } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';

const JsonObject = z.record(z.string(), z.unknown());

/** Returns the name of a stored token, given as `{{token:NAME}}` or as the name by itself. */
const reference = (value: unknown) =>
  typeof value === 'string' ? { token_name: /^\{\{\s*token:(.*\S)\s*\}\}$/.exec(value)?.[1] ?? value } : value;

/** The environment variables that a tool needs, each with the stored token that fills it. */
export const EnvConfig = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'Not the name of an environment variable'),
    alsoTaken(z.object({ token_name: z.string().nullable().default(null), description: z.string().optional() }), {
      read: reference,
    }),
  )
  .meta({ id: 'EnvConfig', example: { API_KEY: { token_name: 'weather-key', description: 'Key of the weather service' } } });

export const CustomToolCreate = z
  .object({
    name: Name.regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'Must be the name of a Python function').meta({ example: 'add' }),
    description: z.string().default(''),
    source_code: z.string().max(204_800).meta({ example: 'def add(a: int, b: int) -> int:\n    return a + b\n' }),
    parameters_schema: toolSchema(JsonObject)
      .nullable()
      .default(null)
      .meta({ description: 'Null: inferred from the type hints' }),
    tags: Tags,
    is_enabled: z.boolean().default(true),
    env_config: EnvConfig.optional(),
    effect: z.enum(TOOL_EFFECTS).optional().meta({ description: "Left out: the file's EFFECT, or write" }),
    network: z.boolean().optional().meta({ description: "Left out: the file's NETWORK, or false" }),
  })
  .meta({ id: 'CustomToolCreate' });
export type CustomToolValues = z.output<typeof CustomToolCreate>;

export const CustomToolUpdate = toPatchSchema(CustomToolCreate).meta({ id: 'CustomToolUpdate' });

export const CustomTool = z
  .object({
    ...JsonRecord,
    name: z.string(),
    description: z.string(),
    source_code: z.string(),
    parameters_schema: JsonObject,
    tags: z.array(z.string()),
    is_enabled: z.boolean(),
    env_config: EnvConfig.optional().meta({ description: 'Only when the tool declares variables' }),
    effect: z.enum(TOOL_EFFECTS),
    network: z.boolean(),
    is_plugin: z.boolean(),
    needs: Needs,
  })
  .meta({ id: 'CustomTool' });
export type CustomTool = z.output<typeof CustomTool>;

const ToolRunRequest = z
  .object({ arguments: JsonObject.default({}) })
  .meta({ id: 'ToolRunRequest', example: { arguments: { a: 1, b: 2 } } });
const ToolRunResult = z
  .object({
    tool_name: z.string(),
    result: z.string().meta({ description: 'JSON text of what the tool returned' }),
    success: z.boolean(),
    error: z.string().nullable(),
    duration_ms: z.number(),
    stdout: z.string(),
    stderr: z.string(),
  })
  .meta({ id: 'ToolRunResult' });

const EnvMappingUpdate = z
  .object({ env_mapping: z.record(z.string(), z.string().nullable()) })
  .meta({ id: 'EnvMappingUpdate', example: { env_mapping: { API_KEY: 'weather-key' } } });
export const EnvMapping = z
  .object({
    tool_id: z.string(),
    tool_name: z.string(),
    env_mapping: z.record(z.string(), z.string().nullable()),
    available_tokens: z.array(z.string()),
  })
  .meta({ id: 'EnvMapping' });

const ToolValidation = z
  .object({ valid: z.boolean(), inferred_schema: JsonObject, error: z.string().nullable() })
  .meta({ id: 'ToolValidation' });

const tag = 'Custom tools';

export const customTools = {
  ...crud(
    { path: '/api/custom-tools', noun: 'custom tool', tag, shared: true },
    { record: CustomTool, create: CustomToolCreate, update: CustomToolUpdate },
  ),
  run: endpoint('POST /api/custom-tools/{id}/run', {
    operation: 'run_custom_tool',
    access: 'run',
    tag,
    summary: 'Run a tool once',
    description: 'A 200 means that the execution ended; `success` and `error` report how. At most 30 seconds.',
    params: IdParams,
    body: ToolRunRequest,
    exact: true,
    reply: ToolRunResult,
    refuses: [409],
  }),
  getEnvMapping: endpoint('GET /api/custom-tools/{id}/env-mapping', {
    operation: 'get_env_mapping',
    tag,
    summary: 'Which stored token fills which variable',
    params: IdParams,
    reply: EnvMapping,
  }),
  setEnvMapping: endpoint('PUT /api/custom-tools/{id}/env-mapping', {
    operation: 'set_env_mapping',
    tag,
    summary: 'Fill declared variables from stored tokens',
    description: 'A variable that is not declared is refused with 422; a token that does not exist yet is a warning.',
    params: IdParams,
    body: EnvMappingUpdate,
    reply: EnvMapping,
    refuses: [412],
    shared: true,
  }),
  validate: endpoint('POST /api/custom-tools/validate', {
    operation: 'validate_custom_tool',
    access: 'read',
    tag,
    summary: 'Check a tool file without storing or running it',
    body: z.object({ name: z.string(), source_code: z.string().max(204_800) }).meta({
      id: 'ToolValidationRequest',
      example: { name: 'add', source_code: 'def add(a: int, b: int) -> int:\n    return a + b\n' },
    }),
    reply: ToolValidation,
  }),
  upload: endpoint('POST /api/custom-tools/upload', {
    operation: 'upload_custom_tool',
    tag,
    summary: 'Create a tool from a .py file named after its function',
    upload: true,
    shared: true,
    reply: CustomTool,
    status: 201,
    refuses: [400, 409],
  }),
};
