import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

/*
 * An OpenAI-style chat completions endpoint in a separate process. The prompt contains its scenario:
 * `[[turns=3;ttft_ms=0;tokens=50;tool=lookup;every_ms=0]]`. While a request has fewer than `turns` - 1 tool results, the answer
 * is one tool call; after that, it is a text of `tokens` tokens. Answers are built only once, so that the endpoint takes as
 * little as possible from the measured side.
 */

interface Scenario {
  turns: number;
  ttft_ms: number;
  tokens: number;
  tool: string;
  /**
   * If above 0, the answer comes at this pace: one token each so many milliseconds, which contains the time at which it is
   * sent.
   */
  every_ms: number;
}

const ARGUMENTS: Record<string, unknown> = {
  lookup: { q: 'the price of durability' },
  manage_todo_list: { todoList: [{ id: 1, title: 'Look it up', status: 'in-progress' }] },
};

const scenarios = new Map<string, Scenario>();
const answers = new Map<string, Buffer>();

/** Reads the scenario from the raw body: parsing all of it would cost more than answering. */
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
    every_ms: number('every_ms', 0),
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

const BASE = { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'scripted' };
const frame = (chunk: object) => `data: ${JSON.stringify({ ...BASE, ...chunk })}\n\n`;
const frameOf = (delta: object) => frame({ choices: [{ index: 0, delta, finish_reason: null }] });

function lastFrames(tokens: number, finish_reason: string): string {
  const usage = { prompt_tokens: 100, completion_tokens: tokens, total_tokens: 100 + tokens };
  return `${frame({ choices: [{ index: 0, delta: {}, finish_reason }] })}${frame({ choices: [], usage })}data: [DONE]\n\n`;
}

const framesOf = (deltas: object[], finish_reason: string): string =>
  deltas.map(frameOf).join('') + lastFrames(deltas.length, finish_reason);

/** Sends each token when it is due, however late the timer was for the previous one. */
async function speak(response: ServerResponse, { tokens, every_ms }: Scenario): Promise<void> {
  const start = performance.now();
  for (let token = 0; token < tokens && !response.destroyed; token += 1) {
    await wait(Math.max(0, start + (token + 1) * every_ms - performance.now()));
    response.write(frameOf({ content: `t${Date.now()} ` }));
  }
  response.end(lastFrames(tokens, 'stop'));
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const scenario = scenarioOf(body);
  const results = body.match(/"role":"tool"/g)?.length ?? 0;
  if (scenario.ttft_ms > 0) await wait(scenario.ttft_ms);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (scenario.every_ms > 0) return speak(response, scenario);
  response.end(answerOf(scenario, results < scenario.turns - 1));
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', 4_096, () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
