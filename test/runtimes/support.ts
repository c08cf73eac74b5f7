import type { PinnedProvider } from '../../src/domain/definition.ts';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import type { TranscriptMessage } from '../../src/domain/transcript.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { selectRuntime } from '../../src/runtimes/select.ts';
import type { Answer } from '../support/peers/model-server.ts';

export const message = (values: Partial<TranscriptMessage>): TranscriptMessage => ({
  ...{ step: 0, position: 0, role: 'user', kind: 'prompt', content: '', tool_calls: null, call_id: null, extra: null },
  ...values,
});

export const exchangeOf = (values: Partial<Exchange> = {}): Exchange => ({
  task_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
  model: null,
  instructions: 'Be brief.',
  transcript: [message({ content: 'Go.' })],
  tools: [],
  reasoning_effort: null,
  wants_json: false,
  cursor: null,
  ...values,
});

export const providerOf = (values: Partial<PinnedProvider>): PinnedProvider => ({
  id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be002',
  name: 'scripted',
  provider_type: 'openai_compatible',
  api_key_token_name: null,
  base_url: null,
  auth_type: 'bearer',
  azure_api_version: null,
  azure_deployment: null,
  default_model: 'scripted',
  requests_per_minute: null,
  price_table: {},
  context_window: null,
  ...values,
});

/** To servers of the test itself. */
export const DIRECT = { fetch, installationFetch: fetch, deadlines: { total_ms: 60_000, silence_ms: 60_000 } };

export const caller = { access_token: 'access', openToken: async (name: string) => `value of ${name}` };

/** The reply of a provider to one exchange, with the text streamed before it. */
export async function reply(
  provider: Partial<PinnedProvider>,
  values: Partial<Exchange> = {},
  signal = new AbortController().signal,
) {
  const options = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, ...DIRECT };
  const { runtime } = await selectRuntime({ provider: providerOf(provider) }, caller, options);
  let streamed = '';
  const answer = await runtime.exchange(exchangeOf(values), (delta) => (streamed += delta), signal);
  return { ...answer.reply, streamed };
}

export async function failure(work: Promise<unknown>): Promise<ModelFailure> {
  const outcome = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(outcome instanceof ModelFailure)) throw new Error(`expected a ModelFailure, got ${outcome}`);
  return outcome;
}

/** A stream of these chunks, followed by `usage` and the end unless the options disable them. */
export const chunks =
  (deltas: object[], { finish = 'stop', usage }: { finish?: string; usage?: object } = {}): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (body: object) => response.write(`data: ${JSON.stringify({ id: 'c', model: 'scripted', ...body })}\n\n`);
    for (const delta of deltas) send({ choices: [{ index: 0, delta, finish_reason: null }] });
    send({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    if (usage) send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  };
