import { z } from 'zod';

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const SHAPES =
  '`{type: "function", function: {name, description, parameters}}`, `{type: "function", name, description, parameters}` or `{name, description, input_schema}`';

/** A function in the shape of any vendor, in the one that is stored. Anything else is left to the schema, or is an error. */
function storedShape(given: unknown, { addIssue }: { addIssue(message: string): void }): unknown {
  if (!isObject(given)) return given;
  const { type, function: nested, ...flat } = given;
  const named = type ?? 'function';
  const takes = named === 'function' || (named === 'custom' && nested === undefined && isObject(flat.input_schema));
  if (!takes) return addIssue(refusalOf(type));
  if (nested !== undefined) return { ...flat, type: named, function: withParameters(nested, addIssue) };
  return { type: 'function', function: withParameters(flat, addIssue) };
}

/** The schema of the arguments under one name. OpenAI's clients send a null for none. */
function withParameters(fields: unknown, addIssue: (message: string) => void): unknown {
  if (!isObject(fields)) return fields;
  const { input_schema, parameters, ...others } = fields;
  const [first, second] = [parameters, input_schema].filter((schema) => schema !== undefined && schema !== null);
  if (second !== undefined) addIssue('`parameters` and `input_schema` are one field; send one of them');
  return first === undefined ? others : { ...others, parameters: first };
}

const refusalOf = (type: unknown): string => {
  if (type === 'custom') return `A tool of type custom needs an \`input_schema\`. A function is taken as ${SHAPES}`;
  const named = typeof type === 'string' ? `\`${type.slice(0, 64)}\`` : 'This';
  return (
    `${named} is not a function, but a type of tool that its vendor runs, which no provider is sent from here. Name a tool of ` +
    'GET /api/builtin-tools in `builtin_tools` instead, such as `web_search`: a provider of type `anthropic` without ' +
    `\`base_url\` runs it itself, and for others Perdura does. A function is taken as ${SHAPES}`
  );
};

/** A function that is described to the model; Perdura runs nothing for it. */
export const ToolDefinition = z
  .preprocess(
    (given, { addIssue }) => storedShape(given, { addIssue: (message) => addIssue({ code: 'custom', message }) }),
    z.looseObject({
      type: z.literal('function').default('function'),
      function: z.looseObject({
        name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
        description: z.string().optional(),
        parameters: z.looseObject({}).optional(),
      }),
    }),
  )
  .meta({
    description:
      'A function, for every provider. `{name, description, input_schema}` (also with `type: "custom"`) and ' +
      '`{type: "function", name, description, parameters}` are accepted as well, and stored as this one. 422 for tools that a vendor runs',
  });
