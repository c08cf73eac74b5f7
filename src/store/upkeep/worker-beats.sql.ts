import { statement } from '../database/statement.ts';

/** The time after which a worker that has not reported no longer counts as working: three missed beats. */
const SILENT_SECONDS = 30;
/** The time for which a worker that was lost is still listed. */
const KEPT_MINUTES = 60;

/** Writes what a worker reports of itself, and removes workers that have been silent for long. Times are those of the database. */
export const beatWorker = statement(
  'beat_worker',
  ['id', 'name', 'version', 'build_id', 'roles', 'slots', 'used', 'disk_free'],
  `WITH outlived AS (DELETE FROM worker_beats WHERE seen_at < now() - interval '${KEPT_MINUTES} minutes' AND id <> :id::uuid)
    INSERT INTO worker_beats (id, name, version, build_id, roles, slots, used, disk_free)
    VALUES (:id, :name, :version, :build_id, :roles::text[], :slots, :used, :disk_free)
    ON CONFLICT (id) DO UPDATE SET slots = excluded.slots, used = excluded.used, disk_free = excluded.disk_free, seen_at = now()`,
);

export const leaveWorker = statement('leave_worker', ['id'], 'DELETE FROM worker_beats WHERE id = :id');

export const listWorkers = statement(
  'list_workers',
  [],
  `SELECT id, name, version, build_id, roles, slots, used, disk_free, started_at, seen_at,
      seen_at < now() - interval '${SILENT_SECONDS} seconds' AS silent
    FROM worker_beats ORDER BY silent, name, id`,
);
