import { Client, Connection } from '@temporalio/client';
import { toRunId } from '../../src/temporal/names.ts';
import type { Watched } from './client.ts';

/** Measures from the clients' view how soon the work of a killed worker is announced again. */
export interface Recovery {
  /** Call when a worker was killed: records the work it had in progress. Always true. */
  lost(pid: number): true;
  /** Call when the database or the engine was down: work lost meanwhile is not measured. */
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
      client.workflow.getHandle(toRunId(task_id)).describe(),
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
