import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Answer, type FormQuestion, MOST_QUESTIONS, type OpenQuestion } from '../../src/domain/questions.ts';
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

const CALL = { task_id: 't', call_id: '1-1', name: 'ask', attempts: 1, turns: 7, workflow_id: 'w', owner: 'ann' };
const never = () => new AbortController().signal;

interface Options {
  full?: boolean;
  stopped?: AbortSignal;
  /** False if the record takes no question. */
  writes?: boolean;
  /** Is called before a question is closed. */
  onClose?(record: { question: OpenQuestion | null; answers: object[]; status: string }): void;
}

/** A call whose record is an object; `full`: nobody else can be asked on this worker. */
function world({ full = false, stopped = never(), writes = true, onClose = () => {} }: Options = {}) {
  const record = { status: 'started', attempts: 1, question: null as OpenQuestion | null, answers: [] as object[] };
  const events: any[] = [];
  const seconds: number[] = [];
  const shown: boolean[] = [];
  const places = { taken: 0, freed: 0 };
  const listeners = new Set<() => void>();
  const close = () => Object.assign(record, { question: null, status: 'started' });
  const ports = {
    ledger: {
      async ask(_: unknown, { question, events: more }: { question: OpenQuestion; events: object[] }) {
        if (!writes) return false;
        Object.assign(record, { question, status: 'waiting_answer' });
        seconds.push((Date.parse(question.expires_at) - Date.parse(question.asked_at)) / 1_000);
        events.push(...more);
        return true;
      },
      question: async () => ({ ...record }),
      async closeQuestion(_: unknown, { answered, events: more }: { answered: boolean; events: object[] }) {
        onClose(record);
        // The record refuses to give up a question that was answered just now.
        if (!answered && record.question === null) return false;
        close();
        events.push(...more);
        return true;
      },
      resume: async (_: unknown, more: object[]) => void events.push(...more),
    },
    onChange(workflow_id: string, listener: () => void) {
      expect(workflow_id).toBe('w');
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    show: async (_: unknown, asking: boolean) => void shown.push(asking),
    enter(owner: string) {
      expect(owner).toBe('ann');
      if (full) return null;
      places.taken += 1;
      return () => {
        places.freed += 1;
      };
    },
    wait_ms: 600_000,
    now: () => new Date(0).toISOString(),
  };
  const questions = callQuestions(ports as never, CALL as never, stopped);
  /** A person answers the open question; `noticed`: the worker is notified. */
  const answer = async (given: Answer, { noticed = true } = {}) => {
    const { id: question_id, key } = record.question!;
    record.answers.push({ ...given, question_id, key });
    record.question = null;
    if (noticed) for (const listener of listeners) listener();
    await vi.advanceTimersByTimeAsync(0);
  };
  const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
  return { questions, record, events, seconds, shown, places, listeners, answer, tick };
}

const outcomeOf = (asking: Promise<Answer>) => {
  const seen: { outcome: Answer | Error | null } = { outcome: null };
  void asking.then(
    (answer) => (seen.outcome = answer),
    (error: Error) => (seen.outcome = error),
  );
  return seen;
};

it('the questions of a call share the time that they may wait', async () => {
  const { questions, seconds, places, tick } = world();
  const withdrawn = new AbortController();
  const first = questions.ask(question('one'), withdrawn.signal);
  await tick(200_000);
  withdrawn.abort();
  expect(await first).toEqual({ action: 'cancel' });
  const second = outcomeOf(questions.ask(question('two'), never()));
  await tick(399_000);
  expect(second.outcome).toBeNull();
  await tick(2_000);
  expect(second.outcome).toEqual({ action: 'cancel' });
  expect(seconds).toEqual([600, 400]);
  expect(places).toEqual({ taken: 2, freed: 2 });
});

describe('a question of a call', () => {
  it('waits until a person answers it, and shows that its run waits for them', async () => {
    const { questions, events, shown, places, answer, tick, listeners } = world();
    const asked = outcomeOf(questions.ask(question('Which city?'), never()));
    await tick(60_000);
    expect([asked.outcome, shown]).toEqual([null, [true]]);
    expect(events).toMatchObject([
      { data: { event: 'question_asked', detail: 'Which city?', call_id: '1-1', name: 'ask' } },
      { type: 'status', data: { status: 'waiting', current_turn: 7 } },
    ]);
    await answer({ action: 'accept', content: { city: 'Bern' } });
    expect(asked.outcome).toEqual({ action: 'accept', content: { city: 'Bern' } });
    expect(events.slice(2)).toMatchObject([{ type: 'status', data: { status: 'running', current_turn: 7 } }]);
    expect([shown, places, listeners.size]).toEqual([[true, false], { taken: 1, freed: 1 }, 0]);
  });

  it.each(['decline', 'cancel'] as const)('may be answered with %s', async (action) => {
    const { questions, answer, tick } = world();
    const asked = outcomeOf(questions.ask(question('Which city?'), never()));
    await tick();
    await answer({ action });
    expect(asked.outcome).toEqual({ action, content: undefined });
  });

  it('is answered within three seconds although no notice of the answer arrives', async () => {
    const { questions, answer, tick } = world();
    const asked = outcomeOf(questions.ask(question('Which city?'), never()));
    await tick();
    await answer({ action: 'accept' }, { noticed: false });
    expect(asked.outcome).toBeNull();
    await tick(3_000);
    expect(asked.outcome).toMatchObject({ action: 'accept' });
  });

  it.each([
    ['expired', 'Nobody answered in time'],
    ['withdrawn', 'The tool no longer needs an answer'],
  ])('that nobody answers has %s, and its record states it', async (outcome, detail) => {
    const { questions, events, tick } = world();
    const stop = new AbortController();
    const asked = outcomeOf(questions.ask(question('Which city?'), stop.signal));
    await tick(10_000);
    if (outcome === 'withdrawn') stop.abort();
    await tick(outcome === 'withdrawn' ? 0 : 600_000);
    expect(asked.outcome).toEqual({ action: 'cancel' });
    expect(events[2]).toMatchObject({ data: { event: 'question_answered', detail, outcome } });
    expect(events[2].data.question_id).toBe(events[0].data.question.id);
  });

  it('that was answered before the call was made again is not asked again, and a second one is', async () => {
    const { questions, record, answer, tick, seconds } = world();
    const first = outcomeOf(questions.ask(question('Which city?'), never()));
    await tick();
    await answer({ action: 'accept', content: { city: 'Bern' } });
    expect(first.outcome).toMatchObject({ content: { city: 'Bern' } });
    const again = world();
    again.record.answers = record.answers;
    expect(await again.questions.ask(question('Which city?'), never())).toEqual({ action: 'accept', content: { city: 'Bern' } });
    expect(again.seconds).toEqual([]);
    const other = outcomeOf(again.questions.ask(question('Which street?'), never()));
    const same = outcomeOf(again.questions.ask(question('Which city?'), never()));
    await again.tick();
    await again.answer({ action: 'accept', content: { street: 'Aare' } });
    expect([other.outcome, same.outcome]).toEqual([{ action: 'accept', content: { street: 'Aare' } }, null]);
    expect([again.seconds.length, seconds.length]).toEqual([2, 1]);
  });

  it('that was open when the call was lost keeps its id', async () => {
    const { questions, record, events, tick } = world();
    outcomeOf(questions.ask(question('Which city?'), never()));
    await tick();
    const again = world();
    Object.assign(again.record, { question: record.question, status: 'waiting_answer' });
    outcomeOf(again.questions.ask(question('Which city?'), never()));
    await again.tick();
    expect(again.events[0].data.question.id).toBe(events[0].data.question.id);
    outcomeOf(world().questions.ask(question('Which city?'), never()));
  });

  it('waits for the one before it', async () => {
    const { questions, seconds, answer, tick } = world();
    const [first, second] = ['one', 'two'].map((text) => outcomeOf(questions.ask(question(text), never())));
    await tick(5_000);
    expect(seconds).toHaveLength(1);
    await answer({ action: 'accept' });
    await tick();
    expect([first!.outcome, second!.outcome, seconds.length]).toEqual([expect.anything(), null, 2]);
  });

  it('is refused if too many wait on this worker, and if the call has asked as many as it may', async () => {
    const full = world({ full: true });
    await expect(full.questions.ask(question('one'), never())).rejects.toThrow('too many questions wait');
    const { questions, tick } = world();
    const asked = Array.from({ length: MOST_QUESTIONS + 1 }, (_, at) => outcomeOf(questions.ask(question(`${at}`), never())));
    await tick();
    expect(asked.map(({ outcome }) => outcome === null)).toEqual([...Array(MOST_QUESTIONS).fill(true), false]);
    expect(asked.at(-1)!.outcome).toMatchObject({ message: expect.stringContaining(`at most ${MOST_QUESTIONS}`) });
  });

  it.each([
    ['another attempt has the call', { attempts: 2 }],
    ['the call has ended', { status: 'done' }],
  ])('is given up if %s', async (_, change) => {
    const { questions, record, tick } = world();
    const asked = outcomeOf(questions.ask(question('one'), never()));
    await tick();
    Object.assign(record, change);
    await tick(3_000);
    expect(asked.outcome).toMatchObject({ type: 'stale_attempt' });
  });

  it.each([
    ['another question is open', { question: { id: 'other' } }],
    ['the record has another question in its place', { question: null, status: 'waiting_answer' }],
  ])('is given up if %s', async (_, change) => {
    const { questions, record, tick } = world();
    const asked = outcomeOf(questions.ask(question('one'), never()));
    await tick();
    Object.assign(record, change);
    await tick(3_000);
    expect(asked.outcome).toMatchObject({ type: 'stale_attempt' });
  });

  it('is not asked if the record does not take it, unless an earlier try has written it', async () => {
    const { questions } = world({ writes: false });
    await expect(questions.ask(question('one'), never())).rejects.toMatchObject({ type: 'stale_attempt' });
    const first = world();
    outcomeOf(first.questions.ask(question('one'), never()));
    await first.tick();
    const again = world({ writes: false });
    Object.assign(again.record, { question: first.record.question, status: 'waiting_answer' });
    const asked = outcomeOf(again.questions.ask(question('one'), never()));
    await again.tick();
    await again.answer({ action: 'decline' });
    expect(asked.outcome).toMatchObject({ action: 'decline' });
  });

  it('that was closed by a try whose reply was lost has no answer', async () => {
    const { questions, record, tick } = world();
    const asked = outcomeOf(questions.ask(question('one'), never()));
    await tick();
    Object.assign(record, { question: null, status: 'started' });
    await tick(3_000);
    expect(asked.outcome).toEqual({ action: 'cancel' });
  });

  it('that is answered in the moment in which it is withdrawn has its answer', async () => {
    let closes = 0;
    const { questions, events, tick } = world({
      onClose(record) {
        if (++closes > 1) return;
        record.answers.push({ action: 'accept', question_id: record.question!.id, key: 'k' });
        record.question = null;
      },
    });
    const withdrawn = new AbortController();
    const asked = outcomeOf(questions.ask(question('one'), withdrawn.signal));
    await tick();
    withdrawn.abort();
    await tick();
    expect([asked.outcome, closes]).toEqual([{ action: 'accept', content: undefined }, 2]);
    expect(events.map(({ data }) => data.event)).toEqual(['question_asked', undefined, undefined]);
  });

  it('stays open when the attempt is stopped: the next one asks it again', async () => {
    const stop = new AbortController();
    const { questions, record, events, places, tick } = world({ stopped: stop.signal });
    const asked = outcomeOf(questions.ask(question('one'), never()));
    await tick();
    stop.abort(new Error('the worker stops'));
    await tick();
    expect(asked.outcome).toMatchObject({ message: 'the worker stops' });
    expect([record.question?.message, events.length, places]).toEqual(['one', 2, { taken: 1, freed: 1 }]);
  });

  it('is withdrawn when the call ends', async () => {
    const { questions, record, tick } = world();
    const asked = outcomeOf(questions.ask(question('one'), never()));
    await tick();
    await Promise.all([questions.end(), tick()]);
    expect([asked.outcome, record.question]).toEqual([{ action: 'cancel' }, null]);
  });
});
