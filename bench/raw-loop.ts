import OpenAI from 'openai';

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type Call = OpenAI.Chat.Completions.ChatCompletionMessageFunctionToolCall;

const SYSTEM = 'You are a helper. Use your tools when needed, then answer.';
const TOOLS: OpenAI.Chat.Completions.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'lookup',
      description: 'Looks something up.',
      parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    },
  },
];
const MOST_STEPS = 64;

/** The floor: the same run as a bare client loop with a tool in the same process, without a server, storage or durability. */
export function rawLoop(model_url: string) {
  const client = new OpenAI({ baseURL: model_url, apiKey: 'none', maxRetries: 0 });
  return async (prompt: string, on_first: () => void = () => {}): Promise<void> => {
    const messages: Message[] = [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: prompt },
    ];
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const { content, calls } = await modelCall(client, messages, on_first);
      if (calls.length === 0) return;
      messages.push({ role: 'assistant', content: content || null, tool_calls: calls });
      for (const call of calls) messages.push({ role: 'tool', tool_call_id: call.id, content: lookup(call.function.arguments) });
    }
    throw new Error('The model never answered');
  };
}

const lookup = (args: string) => `value of ${(JSON.parse(args) as { q?: string }).q}`;

async function modelCall(client: OpenAI, messages: Message[], on_first: () => void) {
  const request = { model: 'scripted', messages, tools: TOOLS, stream: true as const, stream_options: { include_usage: true } };
  let content = '';
  const calls: Call[] = [];
  for await (const { choices } of await client.chat.completions.create(request)) {
    const delta = choices[0]?.delta;
    if (delta?.content) {
      if (!content) on_first();
      content += delta.content;
    }
    for (const { index, id = '', function: piece } of delta?.tool_calls ?? []) {
      calls[index] ??= { id, type: 'function', function: { name: '', arguments: '' } };
      calls[index].function.name += piece?.name ?? '';
      calls[index].function.arguments += piece?.arguments ?? '';
    }
  }
  return { content, calls };
}
