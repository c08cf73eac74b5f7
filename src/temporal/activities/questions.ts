import { createHash } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import {
  type Answer,
  type FormQuestion,
  type GivenAnswer,
  MOST_QUESTIONS,
  type OpenQuestion,
  QuestionRefused,
} from '../../domain/questions.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { OpenCall, ToolLedger } from '../../store/runs/tool-ledger.ts';
import type { AskPerson } from '../../tools/source.ts';
import { retryWhileDown, staleAttempt } from './attempt.ts';

export interface QuestionPorts {
  ledger: Pick<ToolLedger, 'ask' | 'question' | 'closeQuestion' | 'resume'>;
  /**
   * Calls the listener when something about a workflow may have changed; changes may be missed. Returns a function that ends
   * this.
   */
  onChange(workflow_id: string, listener: () => void): () => void;
  /** Shows in the engine that the run waits for an answer, or no longer does. */
  show(call: Pick<OpenCall, 'task_id' | 'call_id'>, asking: boolean): Promise<unknown>;
  /**
   * Reserves a place for a question of this owner. Returns a function that frees it; null if too many questions wait on this
   * worker.
   */
  enter(owner: string): (() => void) | null;
  /** The total time that all questions of a call may wait. */
  wait_ms: number;
  now(): string;
}

interface CallQuestions {
  ask: AskPerson;
  /** Withdraws open questions after the call has ended. Resolves when the record no longer waits for an answer. */
  end(): Promise<void>;
}

const LOOK_MS = 3_000;

/**
 * Puts the questions of one attempt of a call to a person, one at a time. `stopped`: the attempt ends, and the record stays as it
 * is.
 */
export function callQuestions(ports: QuestionPorts, call: OpenCall, stopped: AbortSignal): CallQuestions {
  const ended = new AbortController();
  const taken_ids = new Set<string>();
  let question_count = 0;
  let left_ms = ports.wait_ms;
  let last: Promise<unknown> = Promise.resolve();
  let last_show: Promise<unknown> = Promise.resolve();

  /** Shows the changes in order, but does not wait for them: the record decides. */
  function show(asking: boolean): void {
    last_show = last_show.then(() => ports.show(call, asking)).catch(() => {});
  }

  async function askOne(question: FormQuestion, withdrawn: AbortSignal): Promise<Answer> {
    const over = AbortSignal.any([withdrawn, stopped]);
    over.throwIfAborted();
    const key = hashQuestion(question);
    const before = await loadState(ports, call, over);
    const earlier_answer = before.answers.find((answer) => answer.key === key && !taken_ids.has(answer.question_id));
    if (earlier_answer) return takeAnswer(earlier_answer);
    const leave = ports.enter(call.owner);
    if (!leave) throw new QuestionRefused('too many questions wait for an answer on this worker; call the tool again later');
    const start = performance.now();
    try {
      const id = before.question?.key === key ? before.question.id : uuid();
      await open({ ...question, id, key, asked_at: ports.now(), expires_at: addMs(ports.now(), left_ms) }, over);
      return await awaitAnswer(id, { over, withdrawn });
    } finally {
      left_ms -= performance.now() - start;
      leave();
    }
  }

  async function open(question: OpenQuestion, over: AbortSignal): Promise<void> {
    const { call_id, name, turns } = call;
    const { id, message, asked_by, schema, asked_at, expires_at } = question;
    const { log, status } = createTaskEvents(call.task_id, ports.now);
    const events = [
      log('question_asked', message, {
        call_id,
        name,
        question: { id, message, asked_by, schema, asked_at, expires_at },
      }),
      status('waiting', turns),
    ];
    // An earlier try may have asked the question and lost the reply.
    const is_asked = await retryWhileDown(() => ports.ledger.ask(call, { question, events }), over);
    if (!is_asked && (await loadState(ports, call, over)).question?.id !== id) throw staleAttempt();
    show(true);
  }

  async function awaitAnswer(
    question_id: string,
    { over, withdrawn }: { over: AbortSignal; withdrawn: AbortSignal },
  ): Promise<Answer> {
    const until = performance.now() + left_ms;
    while (true) {
      const next_change = nextChange(ports, call.workflow_id);
      try {
        const { answers, question, status } = await loadState(ports, call, stopped);
        const answer = answers.find((answer) => answer.question_id === question_id);
        // An earlier try may have let the call continue and lost the reply.
        const continues = status === 'started';
        if (answer && (continues || (await proceed(true, [])))) return takeAnswer(answer);
        if (continues) return { action: 'cancel' };
        if (question?.id !== question_id) throw staleAttempt();
        stopped.throwIfAborted();
        const remaining_ms = until - performance.now();
        const outcome = withdrawn.aborted ? 'withdrawn' : remaining_ms <= 0 ? 'expired' : null;
        // If this fails, the question was answered just now.
        if (outcome && (await proceed(false, [buildUnansweredEvent(question_id, outcome)]))) return { action: 'cancel' };
        if (!outcome) await next_change.within(Math.min(LOOK_MS, remaining_ms), over);
      } finally {
        next_change.end();
      }
    }
  }

  function buildUnansweredEvent(question_id: string, outcome: 'withdrawn' | 'expired'): NewEvent {
    const { log } = createTaskEvents(call.task_id, ports.now);
    const { call_id, name } = call;
    const detail = outcome === 'expired' ? 'Nobody answered in time' : 'The tool no longer needs an answer';
    return log('question_answered', detail, { call_id, name, question_id, outcome });
  }

  /**
   * Puts the call back in progress, and its run too unless it waits for something else. Returns false if the question is no
   * longer open.
   */
  async function proceed(answered: boolean, events: NewEvent[]): Promise<boolean> {
    if (!(await retryWhileDown(() => ports.ledger.closeQuestion(call, { answered, events }), stopped))) return false;
    const { status } = createTaskEvents(call.task_id, ports.now);
    await retryWhileDown(() => ports.ledger.resume(call, [status('running', call.turns)]), stopped);
    show(false);
    return true;
  }

  function takeAnswer({ question_id, action, content }: GivenAnswer): Answer {
    taken_ids.add(question_id);
    return { action, content };
  }

  return {
    ask(question, signal) {
      // Count each question as it arrives: it is kept until the one before it has ended.
      question_count += 1;
      if (question_count > MOST_QUESTIONS)
        return Promise.reject(new QuestionRefused(`a call may ask at most ${MOST_QUESTIONS} questions`));
      const withdrawn = AbortSignal.any([signal, ended.signal]);
      const mine = last.then(() => askOne(question, withdrawn));
      last = mine.catch(() => {});
      return mine;
    },
    async end() {
      ended.abort();
      await last;
    },
  };
}

/** Returns the record of the call's questions. Throws if another attempt is in progress. Waits during an outage. */
async function loadState({ ledger }: Pick<QuestionPorts, 'ledger'>, call: OpenCall, signal: AbortSignal) {
  const state = await retryWhileDown(() => ledger.question(call), signal);
  const mine = state?.attempts === call.attempts && (state.status === 'started' || state.status === 'waiting_answer');
  if (!state || !mine) throw staleAttempt();
  return state;
}

/** Watches for the next change. Called before the record is read, so that no later change is missed. */
function nextChange({ onChange }: Pick<QuestionPorts, 'onChange'>, workflow_id: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = onChange(workflow_id, resolve);
  return {
    end,
    async within(ms: number, signal: AbortSignal): Promise<void> {
      const timer = setTimeout(resolve, ms);
      const stop = () => resolve();
      signal.addEventListener('abort', stop, { once: true });
      await promise;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    },
  };
}

const hashQuestion = (question: FormQuestion) => createHash('sha256').update(JSON.stringify(question)).digest('base64url');

const addMs = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();

/** Limits the waiting questions on a worker, because each holds one of its slots: a total for everybody, and fewer per owner. */
export function questionPlaces(slots: number): QuestionPorts['enter'] {
  const most = Math.max(1, Math.floor(slots / 2));
  const most_of_one = Math.ceil(most / 4);
  const open = new Map<string, number>();
  let all = 0;
  return (owner) => {
    const own = open.get(owner) ?? 0;
    if (all >= most || own >= most_of_one) return null;
    all += 1;
    open.set(owner, own + 1);
    return () => {
      all -= 1;
      const remaining = open.get(owner)! - 1;
      if (remaining === 0) open.delete(owner);
      else open.set(owner, remaining);
    };
  };
}
