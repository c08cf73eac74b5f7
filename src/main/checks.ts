import type { Checks } from '../api/health.ts';
import { migrationsIn } from '../store/migrations.ts';
import type { Engine } from '../temporal/engine.ts';
import type { Isolation } from '../toolrunner/settings.ts';
import type { SharedServices } from './core.ts';
import { MIGRATIONS } from './places.ts';

const TOOLS: Record<Isolation, string> = {
  namespaces: 'each call is confined in its own namespaces',
  landlock: 'each call is confined by Landlock, the second-strongest way',
  process: 'NOT confined: a tool can do whatever the service can',
  refused: 'do not run, because this machine cannot confine them',
};

/** The checks of readiness and `doctor`. */
export function checksOf(
  { store, bus, database, runner }: Pick<SharedServices, 'store' | 'bus' | 'database' | 'runner'>,
  engine: Engine,
): Checks {
  return {
    async database() {
      await store.ping();
      return 'answers';
    },
    async engine() {
      await engine.ping();
      return 'answers';
    },
    async bus() {
      await bus.ping();
      return 'answers';
    },
    async migrations() {
      const wanted = (await migrationsIn(MIGRATIONS)).map(({ name }) => name);
      const { rows } = await database.pool.query<{ name: string }>(
        'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL',
      );
      const applied = new Set(rows.map(({ name }) => name));
      const missing = wanted.filter((name) => !applied.has(name));
      if (missing.length > 0) throw new Error(`Not applied: ${missing.join(', ')}; run perdura migrate`);
      return `${wanted.length} applied`;
    },
    tools: async () => `${TOOLS[runner.isolation]}${runner.isolation_reason ? ` (${runner.isolation_reason})` : ''}`,
  };
}
