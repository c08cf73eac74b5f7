import { expect, it } from 'vitest';
import { MEDIA_TOKENS } from '../../src/domain/attachments.ts';
import type { FileTakers } from '../../src/domain/result-files.ts';
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
    ports: { runs: { compact: async () => true }, getContextWindow: () => WINDOW, file_takers: new Map(), now: () => 'now' },
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

it('images of tools take no room of a run whose model does not take them', async () => {
  const files = [{ id: 'i', name: 'a.png', media_type: 'image/png', size: 9, sha256: '' }];
  const shot = message({ step: 1, role: 'tool', kind: 'result', call_id: '1-1', extra: { files } });
  const tokens = async (file_takers: FileTakers) => {
    const ports = { getContextWindow: () => WINDOW, file_takers };
    const settings = { infinite_session: true, tsv_tool_results: false, caveman: false };
    const work = {
      ports,
      run: { task_id: 't', attachments: null },
      definition: { settings },
      selected: {},
      instructions: '',
      tools: [],
    };
    return (await fitTranscript(work as never, [message({}), shot], new AbortController().signal)).tokens;
  };
  expect((await tokens(new Map())) - (await tokens(new Map([['t', 'none']])))).toBe(MEDIA_TOKENS);
});
