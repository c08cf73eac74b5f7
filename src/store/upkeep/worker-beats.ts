import type { System } from '../../contracts/system.ts';
import { type Database, row, rows } from '../database/database.ts';
import { wire } from '../database/page.ts';
import * as sql from './worker-beats.sql.ts';

type SystemWorker = NonNullable<System['workers']['items']>[number];

type WorkerRow = Omit<SystemWorker, 'started_at' | 'seen_at'> & { started_at: Date; seen_at: Date };

/** What a worker reports of itself. */
interface WorkerBeat extends Pick<SystemWorker, 'id' | 'name' | 'version' | 'build_id' | 'slots' | 'used'> {
  roles: readonly string[];
  /** The free bytes on the disk of its home; null: unknown. */
  disk_free: number | null;
}

/** Stores what each worker process reports of itself. */
export function workerBeatStore({ pool }: Pick<Database, 'pool'>) {
  return {
    async beat(beat: WorkerBeat): Promise<void> {
      await row(pool, sql.beatWorker({ ...beat }));
    },
    /** Forgets a worker that has stopped. */
    async leave(id: string): Promise<void> {
      await row(pool, sql.leaveWorker({ id }));
    },
    /** Lists the workers, those that have fallen silent last. */
    list: async (): Promise<SystemWorker[]> => (await rows<WorkerRow>(pool, sql.listWorkers())).map(wire),
  };
}
