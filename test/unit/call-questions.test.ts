import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { FormQuestion, OpenQuestion } from '../../src/domain/questions.ts';
import { callQuestions } from '../../src/temporal/activities/questions.ts';

const question = (message: string): FormQuestion => ({
  message,
  asked_by: { server: 's', host: null },
  schema: { properties: {} },
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('the questions of a call share the time that they may wait', async () => {
  let open: OpenQuestion | null = null;
  const seconds: number[] = [];
  const places = { taken: 0, freed: 0 };
  const ports = {
    ledger: {
      ask: async (_: unknown, { question }: { question: OpenQuestion }) => {
        open = question;
        seconds.push((Date.parse(question.expires_at) - Date.parse(question.asked_at)) / 1_000);
        return true;
      },
      question: async () => ({ attempts: 1, status: open ? 'waiting_answer' : 'started', question: open, answers: [] }),
      closeQuestion: async () => {
        open = null;
        return true;
      },
      resume: async () => {},
    },
    onChange: () => () => {},
    show: async () => {},
    enter: () => {
      places.taken += 1;
      return () => {
        places.freed += 1;
      };
    },
    wait_ms: 600_000,
    now: () => new Date(0).toISOString(),
  };
  const call = { task_id: 't', call_id: '1-1', name: 'ask', attempts: 1, turns: 1, workflow_id: 'w', owner: 'ann' };
  const questions = callQuestions(ports as never, call as never, new AbortController().signal);
  const withdrawn = new AbortController();
  const first = questions.ask(question('one'), withdrawn.signal);
  await vi.advanceTimersByTimeAsync(200_000);
  withdrawn.abort();
  expect(await first).toEqual({ action: 'cancel' });
  let is_over = false;
  const second = questions.ask(question('two'), new AbortController().signal).finally(() => {
    is_over = true;
  });
  await vi.advanceTimersByTimeAsync(399_000);
  expect(is_over).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await second).toEqual({ action: 'cancel' });
  expect(seconds).toEqual([600, 400]);
  expect(places).toEqual({ taken: 2, freed: 2 });
});
