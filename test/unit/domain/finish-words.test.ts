import { expect, it } from 'vitest';
import { isFailedFinish, isUnknownFinish, parseFinish } from '../../../src/domain/finish.ts';

it.each([
  ['stop', ['stop', 'end_turn', 'STOP', 'FINISH_REASON_STOP', 'eos token', 'pause-turn', 'completed']],
  ['length', ['max_tokens', 'MAX_TOKENS', 'incomplete.max_output_tokens', 'model_context_window_exceeded', 'max_thoughts']],
  ['tool_calls', ['tool_use', 'function_call', 'tool_calls']],
  ['content_filter', ['SAFETY', 'RECITATION', 'LANGUAGE', 'guardrail_intervened', 'SPII', 'prompt_blocked']],
  ['refusal', ['refusal']],
  ['failed', ['error', 'OTHER', 'stop_reason: overloaded', 'user_cancel', 'timeout', 'server_unavailable']],
  ['bad_tool_call', ['MALFORMED_FUNCTION_CALL', 'too_many_tool_calls', 'invalid_tool_choice']],
  ['', ['', 'null', 'NONE', 'FINISH_REASON_UNSPECIFIED', 'in_progress', 'incomplete', 'incomplete.null']],
])('%j is what vendors call otherwise', (finish, words) => {
  expect(words.map((word) => [word, parseFinish(word)])).toEqual(words.map((word) => [word, finish]));
});

it('an unknown word stays as it is, and what is no word ends nothing', () => {
  expect([parseFinish(' Tired '), parseFinish(null), parseFinish(undefined), parseFinish(7)]).toEqual(['Tired', '', '', '']);
  expect(['Tired', 'stop', 'refusal'].map(isUnknownFinish)).toEqual([true, false, false]);
  expect(['failed', 'bad_tool_call', 'stop', 'refusal', 'length'].map(isFailedFinish)).toEqual([true, true, false, false, false]);
});
