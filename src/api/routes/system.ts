import { FAILURE_HOURS, system } from '../../contracts/system.ts';
import { AppError } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { FailureGroup } from '../../store/upkeep/workload.ts';
import type { Engine } from '../../temporal/client/engine.ts';
import { type Api, mount } from '../http/mount.ts';
import { type Checks, readInTime, runChecks } from '../service/health.ts';

interface Services {
  store: Pick<Store, 'workerBeats' | 'workload' | 'sizes'>;
  engine: Pick<Engine, 'backlogs'>;
  checks: Checks;
  measureDisk(): Promise<{ free: number; total: number }>;
}

/** Mounts the state of the installation, for administrators. The parts are read at once, and none waits for another one. */
export function systemRoutes(api: Api, { store, engine, checks, measureDisk }: Services, version: string): void {
  mount(api, system.get, async (_, { key, is_admin }) => {
    if (!is_admin) throw new AppError('forbidden', 'Only administrators see the state of the installation');
    const [results, workers, queues, runs, failures, ...storage] = await Promise.all([
      runChecks(checks),
      readPart(store.workerBeats.list),
      readPart(engine.backlogs),
      readPart(async () => sumByStatus((await store.workload.read()).runs)),
      readPart(async () => (await store.workload.failures(FAILURE_HOURS)).map((group) => markOwn(group, key))),
      readStorage('database', async () => ({ used_bytes: await store.sizes.database() })),
      readStorage('home', async () => toRoom(await measureDisk())),
    ]);
    return { version, at: new Date().toISOString(), checks: results, workers, queues, runs, failures, storage };
  });
}

async function readPart<T>(read: () => Promise<T[]>): Promise<{ items: T[] | null; error: string | null }> {
  const { value, error } = await readInTime(read);
  return { items: value, error };
}

interface Room {
  used_bytes: number | null;
  free_bytes: number | null;
  total_bytes: number | null;
}

const UNKNOWN: Room = { used_bytes: null, free_bytes: null, total_bytes: null };

async function readStorage<K extends string>(of: K, read: () => Promise<Partial<Room>>) {
  const { value, error } = await readInTime(read);
  return { of, ...UNKNOWN, ...value, error };
}

const toRoom = ({ free, total }: { free: number; total: number }): Room => ({
  used_bytes: total - free,
  free_bytes: free,
  total_bytes: total,
});

interface OpenRuns {
  status: string;
  count: number;
  oldest: number;
}

/** Adds up the runs of each status, whatever started them. */
function sumByStatus(runs: readonly OpenRuns[]) {
  const groups = Map.groupBy(runs, ({ status }) => status);
  return [...groups].map(([status, group]) => ({
    status,
    runs: group.reduce((sum, { count }) => sum + count, 0),
    oldest_seconds: Math.max(...group.map(({ oldest }) => oldest)),
  }));
}

/** Replaces the owner's key of each run by whether it is the reader's. */
function markOwn({ newest, ...group }: FailureGroup, key: string) {
  return { ...group, newest: newest.map(({ owner, ...run }) => ({ ...run, own: owner === key })) };
}
