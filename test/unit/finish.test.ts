import { expect, it } from 'vitest';
import { finishActivity } from '../../src/temporal/activities/finish.ts';

/** Finishes a run; returns what was done for it, in order. */
async function finished(end: object, settled: object = {}) {
  const done: string[] = [];
  const note = (what: string) => async () => void done.push(what);
  const ports = {
    settle: async () => {
      done.push('settle');
      return { next: null, webhook: null, definition_hash: 'h', unanswered: false, ...settled };
    },
    doubtCalls: note('doubt'),
    parkEnd: note('park'),
    halt: () => void done.push('halt'),
    workspaces: { remove: note('remove') },
    endSession: note('end session'),
  };
  await finishActivity(ports as never)('t', { error_code: null, ...end } as never);
  return done;
}

it('what else a failed run does is stopped, and nothing is stopped of a run whose end waits', async () => {
  const rest = ['remove', 'end session'];
  expect(await finished({ status: 'completed', passed: ['1-1'] })).toEqual(['settle', ...rest]);
  expect(await finished({ status: 'failed', passed: ['1-1'] })).toEqual(['doubt', 'settle', 'halt', ...rest]);
  expect(await finished({ status: 'failed' }, { definition_hash: null })).toEqual(['settle', 'halt', 'remove']);
  expect(await finished({ status: 'halted' })).toEqual(['settle', ...rest]);
  expect(await finished({ status: 'failed' }, { unanswered: true })).toEqual(['settle', 'park']);
});
