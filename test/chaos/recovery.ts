import { Client, Connection } from '@temporalio/client';
import { runIdOf } from '../../src/temporal/names.ts';
import type { Watched } from './client.ts';

/** Measures how soon work that a killed worker had in hand is announced again, by what the clients saw. */
export interface Recovery {
  /** A worker was killed: notes whose work it had in hand. Always true. */
  lost(pid: number): true;
  /** Database or engine were away: what was lost meanwhile says nothing of recovery. */
  away(from: number, until: number): void;
  /** Seconds, shortest first. */
  seconds(runs: Watched[]): Promise<number[]>;
  close(): Promise<void>;
}

interface Loss {
  task_id: string;
  at: number;
}

const DEADLINE_MS = 2_000;
const STARTED = 2;

export function measureRecovery(address: string, open: () => string[]): Recovery {
  const connection = Connection.lazy({ address });
  const client = new Client({ connection });
  const losses: Loss[] = [];
  const outages: { from: number; until: number }[] = [];
  const asked: Promise<void>[] = [];

  async function note(pid: number, { task_id, at }: Loss): Promise<void> {
    const described = await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflow.getHandle(runIdOf(task_id)).describe(),
    );
    const held = described.raw.pendingActivities?.some(
      ({ lastWorkerIdentity, state }) => lastWorkerIdentity?.startsWith(`${pid}@`) && state === STARTED,
    );
    if (held) losses.push({ task_id, at });
  }
  const disturbed = (from: number, until: number) => outages.some((it) => it.from < until && from < it.until);

  return {
    lost(pid) {
      const at = Date.now();
      for (const task_id of open()) asked.push(note(pid, { task_id, at }).catch(() => {}));
      return true;
    },
    away: (from, until) => void outages.push({ from, until }),
    async seconds(runs) {
      await Promise.all(asked);
      const gaps = losses.flatMap(({ task_id, at }) => {
        const events = runs.find((run) => run.task_id === task_id)?.events ?? [];
        const again = events.find((event) => Date.parse(event.timestamp) > at && isTriedAgain(event.data));
        const until = again ? Date.parse(again.timestamp) : 0;
        return !again || disturbed(at, until) ? [] : [(until - at) / 1000];
      });
      return gaps.sort((a, b) => a - b);
    },
    close: () => connection.close(),
  };
}

const isTriedAgain = ({ event, attempt }: Record<string, unknown>) =>
  event === 'attempt_reset' || event === 'reconciliation_requested' || (event === 'tool_call' && Number(attempt) > 1);
