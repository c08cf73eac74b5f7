/** The refusals of vendors, in the form of their documentation and of public reports of their answers. */

type Json = Record<string, any>;

export interface Refusal {
  status: number;
  body: unknown;
}

/** Judges a request. `issued` holds what this vendor added to its earlier answers, by the id of a call. */
export type Rules = (body: Json, issued: ReadonlyMap<string, Json>) => Refusal | null;

const openaiError = (message: string, param: string | null = null, code: string | null = null): Refusal => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param, code } },
});

const COMMON = ['model', 'messages', 'stream', 'tools', 'tool_choice', 'temperature', 'top_p', 'stop', 'parallel_tool_calls'];
const OPENAI_FIELDS = [...COMMON, 'stream_options', 'max_tokens', 'max_completion_tokens', 'reasoning_effort', 'response_format'];
/** What only OpenAI itself, and Azure's current API, take. */
const OPENAI_OWN_FIELDS = ['service_tier', 'verbosity', 'prompt_cache_key'];

/** The vendor itself. */
export const openaiItself: Rules = (body, issued) => {
  if (body.verbosity !== undefined && body.verbosity !== 'medium' && !/^gpt-[5-9]/.test(body.model))
    return openaiError(
      `Unsupported value: 'verbosity' does not support '${body.verbosity}' with this model. Supported values are: 'medium'.`,
      'verbosity',
      'unsupported_value',
    );
  return openai(Object.fromEntries(Object.entries(body).filter(([name]) => !OPENAI_OWN_FIELDS.includes(name))), issued);
};

/** Endpoints in its form. */
export const openai: Rules = (body) => {
  const unknown = Object.keys(body).find((name) => !OPENAI_FIELDS.includes(name));
  if (unknown) return openaiError(`Unrecognized request argument supplied: ${unknown}`);
  if (body.parallel_tool_calls !== undefined && !body.tools)
    return openaiError(
      "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
    );
  if (body.stop?.length > 4) return openaiError("Invalid 'stop': array too long.", 'stop');
  if (!/^(o\d|gpt-5)/.test(body.model)) return null;
  if (body.max_tokens !== undefined)
    return openaiError(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    );
  return body.temperature === undefined || body.temperature === 1
    ? null
    : openaiError(
        `Unsupported value: 'temperature' does not support ${body.temperature} with this model. Only the default (1) value is supported.`,
        'temperature',
        'unsupported_value',
      );
};

/** What each vendor refuses of a tool: a sentence in its own words; null: nothing. */
export type ToolRule = (tool: { name: string; description?: string; parameters?: Json }) => string | null;

/** Returns the first fault within a schema. `judge` gets each schema and its place. */
function findFault(schema: Json, judge: (schema: Json, path: string[]) => string | null, path: string[] = []): string | null {
  const own = judge(schema, path);
  if (own) return own;
  const isSchema = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
  const inner: [string, unknown][] = [
    ...['properties', '$defs', 'definitions'].flatMap((map) =>
      Object.entries(schema[map] ?? {}).map(([name, value]): [string, unknown] => [`${map}.${name}`, value]),
    ),
    ...['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap((list) =>
      ((schema[list] ?? []) as unknown[]).map((value, at): [string, unknown] => [`${list}.${at}`, value]),
    ),
    ...['items', 'additionalProperties', 'not'].map((one): [string, unknown] => [one, schema[one]]),
  ];
  for (const [place, value] of inner) {
    const fault = isSchema(value) ? findFault(value, judge, [...path, place]) : null;
    if (fault) return fault;
  }
  return null;
}

const isOf = ({ type }: Json, name: string) => [type].flat().includes(name);
const JSON_TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

export const openaiTool: ToolRule = ({ name, description = '', parameters }) => {
  const wrong = (what: string, path: string[] = []) =>
    `Invalid schema for function '${name}': In context=(${path.join(', ')}), ${what}`;
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return `Invalid 'tools[0].function.name': string does not match pattern`;
  if (description.length > 1_024) return `Invalid 'tools[0].function.description': string too long`;
  if (!parameters) return null;
  if (parameters.type !== 'object')
    return wrong(`schema must be a JSON Schema of 'type: "object"', got 'type: "${parameters.type}"'.`);
  if (['oneOf', 'anyOf', 'allOf', 'enum', 'not'].some((keyword) => keyword in parameters))
    return wrong("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.");
  return findFault(parameters, (schema, path) => {
    if (isOf(schema, 'object') && typeof schema.properties !== 'object') return wrong('object schema missing properties', path);
    if (isOf(schema, 'array') && (typeof schema.items !== 'object' || Array.isArray(schema.items)))
      return wrong('array schema missing items', path);
    if (typeof schema.pattern === 'string' && /\(\?(?:[=!]|<[=!])/.test(schema.pattern))
      return wrong('regex lookaround is not supported', path);
    if (schema.enum && new Set(schema.enum.map((one: unknown) => JSON.stringify(one))).size < schema.enum.length)
      return wrong('enum has non-unique elements', path);
    if (schema.enum?.length === 0) return wrong('[] should be non-empty', path);
    if (schema.required === null || (schema.required && !Array.isArray(schema.required)))
      return wrong('required is not of type array', path);
    if (typeof schema.exclusiveMinimum === 'boolean') return wrong(`${schema.exclusiveMinimum} is not of type 'number'`, path);
    return [schema.type ?? []].flat().every((type: string) => JSON_TYPES.includes(type))
      ? null
      : wrong(`'${schema.type}' is not valid`, path);
  });
};

export const anthropicTool: ToolRule = ({ name, parameters }) => {
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) return "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
  if (parameters?.type !== 'object') return 'tools.0.custom.input_schema.type: Input should be object';
  if (['oneOf', 'anyOf', 'allOf'].some((keyword) => keyword in parameters))
    return 'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level';
  if (Object.keys(parameters.properties ?? {}).some((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key)))
    return "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'";
  return findFault(parameters, (schema) => {
    const invalid =
      Array.isArray(schema.items) ||
      typeof schema.exclusiveMinimum === 'boolean' ||
      schema.required === null ||
      !Array.isArray(schema.enum ?? [1]);
    return invalid ? 'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12' : null;
  });
};

const GEMINI_KEYWORDS = [
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'minItems', 'maxItems', 'properties', 'required'],
  ...['minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern', 'example', 'anyOf', 'minimum', 'maximum'],
];

export const geminiTool: ToolRule = ({ name, parameters }) => {
  if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(name))
    return 'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.';
  return parameters
    ? findFault(parameters, (schema, path) => {
        const at = ['parameters', ...path].join('.');
        const unknown = Object.keys(schema).find((keyword) => !GEMINI_KEYWORDS.includes(keyword));
        if (unknown) return `Invalid JSON payload received. Unknown name "${unknown}" at '${at}': Cannot find field.`;
        if (Array.isArray(schema.type)) return `${at}: Proto field is not repeating, cannot start list.`;
        if (!schema.type && !schema.anyOf) return `${at}.type: must be specified`;
        if (schema.anyOf && Object.keys(schema).some((keyword) => !['anyOf', 'nullable'].includes(keyword)))
          return `${at}.any_of: when using any_of, it must be the only field set`;
        if (schema.type === 'array' && !schema.items) return `${at}.items: missing field.`;
        if (schema.enum && schema.type !== 'string') return `${at}.enum: only allowed for STRING type`;
        if (schema.enum?.includes('')) return `${at}.enum: cannot be empty`;
        if (schema.format && schema.type === 'string' && !['enum', 'date-time'].includes(schema.format))
          return `${at}.format: only 'enum' and 'date-time' are supported for STRING type`;
        const stray = schema.required?.find((one: string) => !(one in (schema.properties ?? {})));
        if (stray) return `${at}.required[0]: property is not defined`;
        return schema.type === 'object' && schema.properties && Object.keys(schema.properties).length === 0
          ? `${at}.properties: should be non-empty for OBJECT type`
          : null;
      })
    : null;
};

/** Moonshot publishes its rules with its validator (MoonshotAI/walle). */
const MOONSHOT_KEYWORDS: Record<string, string[]> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['enum', 'minLength', 'maxLength'],
  number: ['enum', 'minimum', 'maximum'],
  integer: ['enum', 'minimum', 'maximum'],
};
const MOONSHOT_RESERVED = ['$defs', '$ref', 'anyOf', 'required', 'additionalProperties'];

export const moonshotTool: ToolRule = (tool) => {
  if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(tool.name))
    return 'Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes';
  if (tool.parameters?.type !== 'object') return 'tools.function.parameters.type is required and must be "object"';
  return findFault(tool.parameters, (schema, path) => {
    const wrong = (what: string) =>
      `tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '${path.join('.')}': ${what}>`;
    if (schema.anyOf && schema.type)
      return wrong('when using anyOf, type should be defined in anyOf items instead of the parent schema');
    if (schema.$ref && schema.type)
      return wrong('when using $ref, type should be defined in the referenced schema instead of the parent schema');
    if (schema.$ref && !/^#(?:\/\$defs\/[^/]+)?$/.test(schema.$ref)) return wrong('only #/$defs/ is supported');
    if (!schema.type && !schema.anyOf && !schema.$ref) return wrong('type is not defined');
    const noted = ['title', 'description', 'default', 'type', 'anyOf', '$ref', ...(path.length === 0 ? ['$defs', '$id'] : [])];
    const odd = Object.keys(schema).find((keyword) => ![...noted, ...(MOONSHOT_KEYWORDS[schema.type] ?? [])].includes(keyword));
    if (odd) return wrong(`invalid keywords: ${odd}`);
    if (new Set((schema.enum ?? []).map((one: unknown) => typeof one)).size > 1) return wrong('enum values must have one type');
    const names = Object.keys(schema.properties ?? {});
    if (names.some((name) => MOONSHOT_RESERVED.includes(name))) return wrong('a property has a reserved name');
    return schema.required?.some((name: string) => !names.includes(name)) ? wrong('required property is not defined') : null;
  });
};

/** llama.cpp turns schemas into grammars. */
export const llamaTool: ToolRule = ({ parameters }) =>
  findFault(parameters ?? {}, ({ pattern, $ref }) => {
    if (typeof $ref === 'string' && !/^#\/[^~%]+$/.test($ref)) return `unsupported $ref ${$ref}`;
    if (typeof pattern !== 'string') return null;
    if (!pattern.startsWith('^') || !pattern.endsWith('$')) return "Pattern must start with '^' and end with '$'";
    return pattern.includes('(?') ? 'Unsupported pattern syntax' : null;
  });

const MISTRAL_FIELDS = [...COMMON, 'max_tokens', 'random_seed', 'response_format', 'safe_prompt', 'reasoning_effort'];
const MISTRAL_MESSAGE = ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'prefix'];

export const mistral: Rules = (body) => {
  const extra = (...loc: (string | number)[]): Refusal => ({
    status: 422,
    body: {
      object: 'error',
      message: { detail: [{ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted' }] },
      ...{ type: 'invalid_request_error', param: null, code: null },
    },
  });
  const wrong = (message: string, type: string, code: string): Refusal => ({
    status: 400,
    body: { object: 'error', message, type, param: null, code },
  });
  const unknown = Object.keys(body).find((name) => !MISTRAL_FIELDS.includes(name));
  if (unknown) return extra(unknown);
  let before = '';
  for (const [at, message] of (body.messages as Json[]).entries()) {
    const added = Object.keys(message).find((name) => !MISTRAL_MESSAGE.includes(name));
    if (added) return extra('messages', at, message.role, added);
    const ids = [
      ...(message.tool_calls ?? []).map(({ id }: Json) => id),
      ...(message.role === 'tool' ? [message.tool_call_id] : []),
    ];
    const bad = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
    if (bad !== undefined)
      return wrong(`Tool call id was ${bad} but must be a-z, A-Z, 0-9, with a length of 9.`, 'invalid_function_call', '3280');
    if (before === 'tool' && (message.role === 'user' || message.role === 'system'))
      return wrong(`Unexpected role '${message.role}' after role 'tool'`, 'invalid_request_message_order', '3230');
    before = message.role;
  }
  return null;
};

/** Requires the signature that a call came with, or the mark for calls of other models. */
export const gemini: Rules = (body, issued) => {
  for (const { role, tool_calls = [] } of body.messages as Json[]) {
    const [first] = tool_calls as Json[];
    if (role !== 'assistant' || !first) continue;
    const signature = first.extra_content?.google?.thought_signature;
    const known = [...issued.values()].map((added) => added.thought_signature);
    if (signature === 'skip_thought_signature_validator' || (signature && known.includes(signature))) continue;
    const message =
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. ' +
      `Additional data, function call \`default_api:${first.function.name}\` , position 2.`;
    return { status: 400, body: [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }] };
  }
  return null;
};

/** Requires the model's reasoning back unchanged, complete and in order. */
export const openrouter: Rules = (body, issued) => {
  for (const { role, tool_calls = [], reasoning_details } of body.messages as Json[]) {
    if (role !== 'assistant' || tool_calls.length === 0) continue;
    const whole = [...issued.values()].map((added) => JSON.stringify(added.reasoning_details));
    if (whole.includes(JSON.stringify(reasoning_details))) continue;
    const raw = JSON.stringify({
      type: 'error',
      error: { message: '`thinking` blocks in the latest assistant message cannot be modified' },
    });
    const metadata = { raw, provider_name: 'Anthropic' };
    return { status: 400, body: { error: { message: 'Provider returned error', code: 400, metadata } } };
  }
  return null;
};

const ANTHROPIC_FIELDS = ['model', 'max_tokens', 'messages', 'system', 'stream', 'tools', 'tool_choice', 'temperature', 'top_p'];

export const anthropic: Rules = (body, issued) => {
  const wrong = (message: string): Refusal => ({
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_1' },
  });
  const unknown = Object.keys(body).find(
    (name) => ![...ANTHROPIC_FIELDS, 'stop_sequences', 'thinking', 'output_config', 'container'].includes(name),
  );
  if (unknown) return wrong(`${unknown}: Extra inputs are not permitted`);
  if (body.max_tokens === undefined) return wrong('max_tokens: Field required');
  if (body.temperature > 1) return wrong('temperature: range: -1..1');
  if (body.temperature !== undefined && body.top_p !== undefined && /claude/.test(body.model))
    return wrong('`temperature` and `top_p` cannot both be specified for this model. Please use only one.');
  if (body.thinking && ['any', 'tool'].includes(body.tool_choice?.type))
    return wrong('Thinking may not be enabled when tool_choice forces tool use.');
  const marks = JSON.stringify(body).split('"cache_control"').length - 1;
  if (marks > 4) return wrong(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
  const names = (body.tools ?? []).map(({ name }: Json) => name);
  if (new Set(names).size < names.length) return wrong('tools: Tool names must be unique.');
  const hosted = hostedFault(body);
  if (hosted) return wrong(hosted);
  if (!body.tools?.length && body.tool_choice) return wrong('tool_choice: may only be specified while providing tools');
  const sent_blocks = (body.messages as Json[]).flatMap(({ content }) =>
    typeof content === 'string' ? [] : (content as Json[]),
  );
  if (!body.tools?.length && sent_blocks.some(({ type }) => type === 'tool_use' || type === 'tool_result'))
    return wrong('Requests which include `tool_use` or `tool_result` blocks must define tools');
  let open: string[] = [];
  for (const [at, { role, content }] of (body.messages as Json[]).entries()) {
    const blocks: Json[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    if (role !== (at % 2 === 0 ? 'user' : 'assistant')) return wrong(`messages.${at}: roles must alternate`);
    const answered = blocks.filter(({ type }) => type === 'tool_result').map((block) => block.tool_use_id);
    const first = blocks.slice(0, answered.length).every(({ type }) => type === 'tool_result');
    if (!first || open.some((id) => !answered.includes(id)))
      return wrong(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}`,
      );
    open = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
    const thought = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking');
    const known = [...issued.values()].map(({ thinking }) => JSON.stringify(thinking));
    if (open.length > 0 && body.thinking && !known.includes(JSON.stringify(thought)))
      return wrong(`messages.${at}.content.0: \`thinking\` blocks in the latest assistant message cannot be modified`);
  }
  return null;
};

/**
 * Returns a fault of the vendor's own tools: each call must have its result, except for those of the last answer, which the
 * vendor makes if it is offered the tool.
 */
function hostedFault({ messages, tools = [] }: Json): string | undefined {
  const all = (messages as Json[]).map(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  );
  const blocks = all.flat() as Json[];
  if (blocks.some(({ type, text }) => type === 'text' && text.trim() === ''))
    return 'messages: text content blocks must contain non-whitespace text';
  const uses = blocks.filter(({ type }) => type === 'server_tool_use');
  const results = blocks.filter(({ type }) => /^(?!tool_result).*_tool_result$/.test(type)).map((block) => block.tool_use_id);
  const stray = results.find((id) => !uses.some((use) => use.id === id));
  if (stray) return `messages: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${stray}`;
  const last = all[(messages as Json[]).findLastIndex(({ role }) => role === 'assistant')] ?? [];
  const pending = (use: Json) => last.includes(use) && tools.some(({ name }: Json) => name === use.name);
  const open = uses.find((use) => !results.includes(use.id) && !pending(use));
  return open && `messages: \`web_search\` tool use with id \`${open.id}\` was found without a corresponding result block`;
}

/** Refuses tools for a model whose template does not support them. */
export const ollamaWithoutTools: Rules = ({ model, tools }) =>
  tools
    ? {
        status: 400,
        body: {
          error: {
            message: `registry.ollama.ai/library/${model} does not support tools`,
            type: 'api_error',
            param: null,
            code: null,
          },
        },
      }
    : null;

export const ollamaWithoutModel: Rules = ({ model }) => ({
  status: 404,
  body: { error: { message: `model '${model}' not found`, type: 'api_error', param: null, code: null } },
});
