import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

/*
 * An OpenAI-style chat completions endpoint in a separate process. The prompt carries its scenario:
 * `[[turns=3;ttft_ms=0;tokens=50;tool=lookup]]`. While a request holds fewer than `turns` - 1 tool results the answer is one tool
 * call, then it is text of `tokens` tokens. Answers are built once, so that it costs the measured side as little as it can.
 */

interface Scenario {
  turns: number;
  ttft_ms: number;
  tokens: number;
  tool: string;
}

const ARGUMENTS: Record<string, unknown> = {
  lookup: { q: 'the price of durability' },
  manage_todo_list: { todoList: [{ id: 1, title: 'Look it up', status: 'in-progress' }] },
};

const scenarios = new Map<string, Scenario>();
const answers = new Map<string, Buffer>();

/** Read from the raw body: parsing it all would cost more than answering. */
function scenarioOf(body: string): Scenario {
  const [, marker = ''] = /\[\[([^\]]*)\]\]/.exec(body) ?? [];
  const known = scenarios.get(marker);
  if (known) return known;
  const given = new Map(marker.split(';').map((pair) => pair.split('=') as [string, string]));
  const number = (name: string, otherwise: number) => Number(given.get(name) ?? otherwise);
  const scenario = {
    turns: number('turns', 1),
    ttft_ms: number('ttft_ms', 0),
    tokens: number('tokens', 50),
    tool: given.get('tool') ?? 'lookup',
  };
  scenarios.set(marker, scenario);
  return scenario;
}

function answerOf({ tokens, tool }: Scenario, asks: boolean): Buffer {
  const key = `${asks ? tool : ''}/${tokens}`;
  const built = answers.get(key) ?? Buffer.from(framesOf(asks ? callOf(tool) : textOf(tokens), asks ? 'tool_calls' : 'stop'));
  answers.set(key, built);
  return built;
}

const textOf = (tokens: number): object[] => [
  { role: 'assistant', content: '' },
  ...Array.from({ length: tokens }, (_, index) => ({ content: `${index ? ' ' : ''}tok${index}` })),
];

function callOf(name: string): object[] {
  const pieces = JSON.stringify(ARGUMENTS[name] ?? {}).match(/.{1,16}/g) ?? [];
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: '' } }],
    },
    ...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  ];
}

function framesOf(deltas: object[], finish_reason: string): string {
  const base = { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'scripted' };
  const chunks = [
    ...deltas.map((delta) => ({ ...base, choices: [{ index: 0, delta, finish_reason: null }] })),
    { ...base, choices: [{ index: 0, delta: {}, finish_reason }] },
    { ...base, choices: [], usage: { prompt_tokens: 100, completion_tokens: deltas.length, total_tokens: 100 + deltas.length } },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const scenario = scenarioOf(body);
  const results = body.match(/"role":"tool"/g)?.length ?? 0;
  if (scenario.ttft_ms > 0) await wait(scenario.ttft_ms);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(answerOf(scenario, results < scenario.turns - 1));
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', 4_096, () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
