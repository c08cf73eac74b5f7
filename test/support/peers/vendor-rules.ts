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
  if (body.thinking && ['any', 'tool'].includes(body.tool_choice?.type))
    return wrong('Thinking may not be enabled when tool_choice forces tool use.');
  const marks = JSON.stringify(body).split('"cache_control"').length - 1;
  if (marks > 4) return wrong(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
  const names = (body.tools ?? []).map(({ name }: Json) => name);
  if (new Set(names).size < names.length) return wrong('tools: Tool names must be unique.');
  const hosted = hostedFault(body);
  if (hosted) return wrong(hosted);
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
