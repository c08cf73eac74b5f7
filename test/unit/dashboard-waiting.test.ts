import { describe, expect, it } from 'vitest';
import { listReasons } from '../../src/dashboard/overview/reasons.ts';

const task = { record_behind: null };
const call = (status: string, name = 'pay', question: object | null = null) => ({ status, name, question }) as never;

describe('the reasons why a run waits', () => {
  it('are one sentence for several calls of a tool that wait for the same', () => {
    const calls = [call('waiting_approval'), call('done'), call('waiting_approval'), call('waiting_approval', 'send')];
    expect(listReasons(task, calls)).toEqual(['Approve 2 calls to pay?', 'Approve the call to send?']);
  });

  it('distinguish a call that the program of the prompt executes from one whose effect is unknown', () => {
    expect(listReasons(task, [call('waiting_client')])).toEqual([
      'The program that sent the prompt has to send the result of the call to pay.',
    ]);
    expect(listReasons(task, [call('waiting_reconciliation')])).toEqual(['Did the call to pay take effect?']);
  });

  it('are the questions of a tool, each on its own', () => {
    const questions = ['Which month?', 'Which year?'].map((message) => call('waiting_answer', 'pay', { message }));
    expect(listReasons(task, questions)).toEqual(['pay asks: Which month?', 'pay asks: Which year?']);
  });

  it('are the budget if no call waits, and the record if it is behind', () => {
    expect(listReasons(task, [call('done')])).toEqual([
      'A budget is used up, or a model has no price. Open the run to see what to do.',
    ]);
    expect(listReasons({ record_behind: 'step 3' }, [])).toEqual([
      'The installation was restored. Resume the run from its record?',
    ]);
  });
});
