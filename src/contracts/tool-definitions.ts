import { z } from 'zod';

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const SHAPES =
  '`{type: "function", function: {name, description, parameters}}`, `{type: "function", name, description, parameters}` or `{name, description, input_schema}`';

/** The tools that Anthropic runs, and those versions of them that Perdura supports. */
const HOSTED_VERSIONS = {
  web_search: ['20250305', '20260209', '20260318'],
  web_fetch: ['20250910', '20260209', '20260309', '20260318'],
  code_execution: ['20250522', '20250825', '20260120', '20260521'],
};
const HOSTED_NAMES = new Map<string, string>(
  Object.entries(HOSTED_VERSIONS).flatMap(([name, versions]) => versions.map((version) => [`${name}_${version}`, name] as const)),
);

/** Converts a function in any vendor's shape to the stored shape. Anything else is left to the schema, or is an error. */
function toStoredShape(given: unknown, { addIssue }: { addIssue(message: string): void }): unknown {
  if (!isObject(given)) return given;
  const { type, function: nested, ...flat } = given;
  const hosted = typeof type === 'string' && HOSTED_NAMES.get(type);
  if (hosted) return checkHostedShape(given, hosted, addIssue);
  const named = type ?? 'function';
  const takes = named === 'function' || (named === 'custom' && nested === undefined && isObject(flat.input_schema));
  if (!takes) return addIssue(formatRefusal(type));
  if (nested !== undefined) return { ...flat, type: named, function: withParameters(nested, addIssue) };
  return { type: 'function', function: withParameters(flat, addIssue) };
}

/** Checks a tool that its vendor runs, and returns it unchanged. */
function checkHostedShape(given: Fields, name: string, addIssue: (message: string) => void): unknown {
  if (given.name !== name) addIssue(`Send \`name: "${name}"\`: its vendor knows \`${given.type}\` by no other name`);
  if ('function' in given) addIssue(`\`${given.type}\` is run by its vendor, which takes no \`function\` in it; leave that out`);
  if ('cache_control' in given) addIssue('Leave out `cache_control`: Perdura marks what the vendor is to keep in its cache');
  return given;
}

/** Reads the arguments' schema under any of its names. OpenAI's clients send null if there is none. */
function withParameters(fields: unknown, addIssue: (message: string) => void): unknown {
  if (!isObject(fields)) return fields;
  const { input_schema, parameters, ...others } = fields;
  const [first, second] = [parameters, input_schema].filter((schema) => schema !== undefined && schema !== null);
  if (second !== undefined) addIssue('`parameters` and `input_schema` are one field; send one of them');
  return first === undefined ? others : { ...others, parameters: first };
}

const formatRefusal = (type: unknown): string => {
  if (type === 'custom') return `A tool of type custom needs an \`input_schema\`. A function is taken as ${SHAPES}`;
  const named = typeof type === 'string' ? `\`${type.slice(0, 64)}\`` : 'This';
  return (
    `${named} is not a function, nor a type of tool that a vendor runs for Perdura: those are ${[...HOSTED_NAMES.keys()].join(', ')}. ` +
    'Name a tool of GET /api/builtin-tools in `builtin_tools` instead, such as `web_search`: a provider of type `anthropic` without ' +
    `\`base_url\` runs it itself, and for others Perdura does. A function is taken as ${SHAPES}`
  );
};

const FunctionDefinition = z.looseObject({
  type: z.literal('function').default('function'),
  function: z
    .looseObject({
      name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
      description: z.string().optional(),
      parameters: z.looseObject({}).optional(),
    })
    .meta({ id: 'FunctionOfTool' }),
});

const HostedDefinition = z.looseObject({ type: z.enum([...HOSTED_NAMES.keys()]), name: z.string() });

/** A tool that Perdura does not run: a function that is described to the model, or a tool that the agent's provider runs. */
export const ToolDefinition = z
  .preprocess(
    (given, { addIssue }) => toStoredShape(given, { addIssue: (message) => addIssue({ code: 'custom', message }) }),
    z.discriminatedUnion('type', [FunctionDefinition, HostedDefinition]),
  )
  .meta({
    description:
      'A function, for every provider. `{name, description, input_schema}` (also with `type: "custom"`) and ' +
      '`{type: "function", name, description, parameters}` are accepted as well, and stored as this one. Or a tool that the vendor of a ' +
      'provider of type `anthropic_messages` runs, such as `{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}`: it is ' +
      'sent as it is, and 422 for an agent with any other provider',
  });
