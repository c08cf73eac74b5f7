import { expect, it } from 'vitest';
import type { TranscriptMessage } from '../../src/domain/transcript.ts';
import { fitTranscript } from '../../src/temporal/activities/fit.ts';

const WINDOW = 10_000;
const usage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0, cost: null };

const message = (values: Partial<TranscriptMessage>): TranscriptMessage => ({
  ...{ step: 0, position: 0, role: 'user', kind: 'prompt', content: 'Do it.', tool_calls: null, call_id: null, extra: null },
  ...values,
});

/** Fits a goal and rounds of about 500 tokens each; `fixed_tokens`: about what the instructions take. */
async function fitted(rounds: number, fixed_tokens: number) {
  const reply = { text: 'Notes.', calls: [], finish: 'stop', usage, model: 'm' };
  const work = {
    ports: { runs: { compact: async () => true }, getContextWindow: () => WINDOW, now: () => 'now' },
    run: { task_id: 't', attachments: null, ...usage },
    definition: { model: 'm', settings: { infinite_session: true, tsv_tool_results: false, caveman: false } },
    step: rounds + 1,
    selected: { keeps_context: false, runtime: { exchange: async () => ({ reply }) }, prices: {} },
    instructions: 'abc '.repeat(fixed_tokens),
    tools: [],
  };
  const messages = Array.from({ length: rounds }, (_, index) =>
    message({ step: index + 1, role: 'assistant', kind: 'reply', content: 'abc '.repeat(500) }),
  );
  return fitTranscript(work as never, [message({}), ...messages], new AbortController().signal);
}

it('a transcript that is compacted leaves most of the window, whatever the instructions take', async () => {
  for (const fixed_tokens of [10, 1_000, 2_000, 3_000]) {
    const { tokens, transcript } = await fitted(20, fixed_tokens);
    expect(
      transcript.filter(({ kind }) => kind === 'summary'),
      `${fixed_tokens}`,
    ).toHaveLength(1);
    expect(tokens, `${fixed_tokens}`).toBeLessThan(WINDOW * 0.5);
  }
});
