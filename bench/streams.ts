import { setTimeout as wait } from 'node:timers/promises';
import { client } from './client.ts';
import type { Model, Started } from './installation.ts';
import { type Spread, spreadOf } from './load.ts';
import { type ProcessUse, usesOf } from './usage.ts';

/** The measurement of answers at human pace, all at once, each followed by one reader. */
export interface Spoken {
  subject: 'raw' | 'perdura';
  streams: number;
  /** The time from the moment that the model sent a token to the moment that its reader received it. */
  lag_ms: Spread & { p99: number };
  /** The time from the prompt to the first token. */
  first_ms: Spread;
  /** The tokens that did not arrive; `failed` counts runs. */
  missing: number;
  failed: number;
  /** The CPU time of each part for a second of one stream. */
  cpu_ms_per_stream_second: Record<string, number | null>;
}

const TOKENS = 200;
const EVERY_MS = 25;
const PROMPT = `Speak. [[turns=1;tokens=${TOKENS};every_ms=${EVERY_MS}]]`;
const SPOKEN_S = (TOKENS * EVERY_MS) / 1000;
/** The pause between two measurements, so that the rest of the first one's work is not counted with the second. */
const REST_MS = 2_000;

/** A reader's observations of one stream. */
interface Seen {
  start: number;
  first: number;
  lags: number[];
}

/** Reads tokens, each of which is `t` and the time at which it was sent. */
function read(seen: Seen, text: string): void {
  const now = Date.now();
  for (const [, sent] of text.matchAll(/t(\d{13}) /g)) {
    if (seen.lags.length === 0) seen.first = now - seen.start;
    seen.lags.push(now - Number(sent));
  }
}

/** Measures each number of streams, the raw client and Perdura in turn. */
export async function streams(started: Started, model: Model, levels: number[]): Promise<Spoken[]> {
  const perdura = await perduraReader(started, model, Math.max(...levels));
  await Promise.all(Array.from({ length: 8 }, (_, slot) => perdura(slot, () => {})));
  const found: Spoken[] = [];
  for (const count of levels) {
    found.push(await measureSpeech({ subject: 'raw', streams: count }, {}, (_, on_text) => rawReader(model, on_text)));
    found.push(await measureSpeech({ subject: 'perdura', streams: count }, started.pids, perdura));
  }
  return found;
}

type Reader = (slot: number, on_text: (text: string) => void) => Promise<void>;

async function measureSpeech(
  place: Pick<Spoken, 'subject' | 'streams'>,
  pids: Record<string, number>,
  reader: Reader,
): Promise<Spoken> {
  await wait(REST_MS);
  const before = await usesOf(pids);
  let failed = 0;
  const all = Array.from({ length: place.streams }, async (_, slot) => {
    const seen: Seen = { start: Date.now(), first: Number.NaN, lags: [] };
    await reader(slot, (text) => read(seen, text)).catch(() => {
      failed += 1;
    });
    return seen;
  });
  const seen = await Promise.all(all);
  const after = await usesOf(pids);
  const lags = seen.flatMap((one) => one.lags);
  const seconds = place.streams * SPOKEN_S;
  const spent = (part: string) => spentIn(before[part], after[part], seconds);
  return {
    ...place,
    lag_ms: { ...spreadOf(lags), p99: at99(lags) },
    first_ms: spreadOf(seen.map(({ first }) => first).filter(Number.isFinite)),
    missing: place.streams * TOKENS - lags.length,
    failed,
    cpu_ms_per_stream_second: Object.fromEntries(Object.keys(pids).map((part) => [part, spent(part)])),
  };
}

const at99 = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;

const spentIn = (before: ProcessUse | null | undefined, after: ProcessUse | null | undefined, seconds: number) =>
  before && after ? (after.cpu_ms - before.cpu_ms) / seconds : null;

/** Creates a workflow for each stream, because a workflow has one run at a time. */
async function perduraReader({ installation, token }: Started, model: Model, most: number): Promise<Reader> {
  const { create, run } = client(installation, token);
  const provider_id = await create('/api/providers', {
    ...{ name: 'speaking', provider_type: 'openai_compatible', base_url: model.url, default_model: 'scripted' },
  });
  const agent_id = await create('/api/agents', { name: 'speaker', provider_id });
  const workflows: string[] = [];
  for (let slot = 0; slot < most; slot += 1)
    workflows.push(await create('/api/workflows', { agent_id, output_format: 'markdown' }));
  return (slot, on_text) => run(workflows[slot] as string, PROMPT, { on_text });
}

/** The floor: a client that reads the model directly. */
async function rawReader({ url }: Model, on_text: (text: string) => void): Promise<void> {
  const body = JSON.stringify({ messages: [{ role: 'user', content: PROMPT }], stream: true });
  const answer = await fetch(`${url}/chat/completions`, { method: 'POST', body });
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = frames.pop() as string;
    for (const frame of frames) {
      if (frame.startsWith('data: {')) on_text(JSON.parse(frame.slice(6)).choices[0]?.delta?.content ?? '');
    }
  }
}
