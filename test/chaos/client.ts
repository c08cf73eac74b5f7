import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { isTerminal } from '../../src/domain/statuses.ts';
import { eventOf, type StreamedEvent } from '../support/client.ts';
import { type Plan, promptOf } from './plan.ts';
import type { Random } from './random.ts';

/** One run from its client's view. */
export interface Watched {
  plan: Plan;
  workflow_id: string;
  task_id: string;
  events: StreamedEvent[];
  /** The client asked for a halt. */
  halted: boolean;
  /** Its decisions by call. */
  decided: Record<string, string[]>;
}

export interface ClientOptions {
  urls: string[];
  token: string;
  random: Random;
  /** Counts connections that the client dropped on purpose. */
  dropped(): void;
  /** The ids of the tasks being watched. */
  watched: Set<string>;
}

const TRY_AGAIN_MS = 400;
const PATIENCE_MS = 15_000;
const HALTED = 0.08;

type Json = Record<string, any>;
export type Client = ReturnType<typeof clientOf>;

/** A client that never gives up: it tries another server each time with the same Idempotency-Key, and resumes broken streams. */
export function clientOf({ urls, token, random, dropped, watched }: ClientOptions) {
  const authorization = `Bearer ${token}`;

  async function call(method: string, path: string, { body, key }: { body?: Json; key?: string } = {}) {
    const headers = { authorization, 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) };
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const asked = fetch(`${random.pick(urls)}${path}`, init).then(async (answer) => ({
      status: answer.status,
      body: (await answer.json()) as Json,
    }));
    const late = new AbortController();
    const patience = wait(PATIENCE_MS, undefined, { signal: late.signal });
    try {
      return await Promise.race([asked, patience.then(() => Promise.reject(new Error('no answer in time')))]);
    } finally {
      late.abort();
      patience.catch(() => {});
      asked.catch(() => {});
    }
  }

  /** Retries on 5xx, and on 409 for a key whose first request is still in progress. */
  async function insist(method: string, path: string, more: { body?: Json; key?: string } = {}) {
    for (;;) {
      const answer = await call(method, path, more).catch(() => null);
      if (answer && answer.status < 500 && answer.body.code !== 'idempotency_key_busy') return answer;
      await wait(TRY_AGAIN_MS);
    }
  }

  async function watch(run: Watched): Promise<void> {
    for (let ended = false; !ended; await wait(ended ? 0 : TRY_AGAIN_MS / 4)) {
      const gone = new AbortController();
      const patience = random.chance(0.3) ? random.between(200, 4_000) : 30_000;
      const timer = setTimeout(() => {
        if (patience < 30_000) dropped();
        gone.abort();
      }, patience);
      try {
        ended = await follow(run, gone.signal);
      } catch {
        // Dropped by either side: resume after the last event seen.
      } finally {
        clearTimeout(timer);
        gone.abort();
      }
    }
  }

  async function follow(run: Watched, signal: AbortSignal): Promise<boolean> {
    const path = `/api/workflows/${run.workflow_id}/stream?task_id=${run.task_id}`;
    const headers = { authorization, 'last-event-id': String(run.events.at(-1)?.id ?? 0) };
    const given_up = once(signal, 'abort').then(() => Promise.reject(new Error('given up')));
    given_up.catch(() => {});
    const answer = await Promise.race([fetch(`${random.pick(urls)}${path}`, { headers, signal }), given_up]);
    if (answer.status !== 200) throw new Error(`the stream was answered with ${answer.status}`);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), given_up]);
      if (done) return false;
      if (see(run, eventOf(value))) return true;
    }
  }

  /** Whether this event ends the run. */
  function see(run: Watched, event: StreamedEvent): boolean {
    run.events.push(event);
    const { type, data } = event;
    if (type === 'log' && /^(approval|reconciliation)_requested$/.test(data.event)) void decide(run, data);
    return type === 'status' && isTerminal(data.status);
  }

  async function decide(run: Watched, { event, call_id }: Json): Promise<void> {
    const approval = event === 'approval_requested';
    const decision = approval ? (random.chance(0.8) ? 'approve' : 'deny') : random.pick(['retry', 'done', 'fail']);
    const body = { decision, ...(decision === 'done' ? { result: { settled: 'by hand' } } : {}) };
    const path = `/api/tasks/${run.task_id}/${approval ? 'approvals' : 'reconciliations'}/${call_id}`;
    await wait(random.between(0, 800));
    // 409 is fine: an earlier try whose response was lost has decided it, or the call has completed.
    const { status } = await insist('POST', path, { body });
    if (status === 200 || status === 409) run.decided[call_id] = [...(run.decided[call_id] ?? []), decision];
  }

  return {
    insist,
    /** Sends one prompt and follows its run to the end. */
    async run(workflow_id: string, plan: Plan): Promise<Watched> {
      const key = `plan-${plan.id}`;
      const sent = await insist('POST', `/api/workflows/${workflow_id}/prompt`, { body: { prompt: promptOf(plan) }, key });
      if (sent.status > 201)
        throw new Error(`The prompt of plan ${plan.id} was answered with ${sent.status}: ${sent.body.detail}`);
      const run: Watched = { plan, workflow_id, task_id: sent.body.task_id, events: [], halted: false, decided: {} };
      const halting = random.chance(HALTED) ? wait(random.between(50, 3_000)).then(() => halt(run)) : null;
      watched.add(run.task_id);
      await watch(run);
      watched.delete(run.task_id);
      await halting;
      return run;
    },
  };

  async function halt(run: Watched): Promise<void> {
    const { status } = await insist('POST', `/api/tasks/${run.task_id}/stop`);
    run.halted = status === 202 || status === 409;
  }
}
