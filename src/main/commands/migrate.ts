import { applyMigrations } from '../../store/migrations.ts';
import type { Config } from '../config.ts';
import { MIGRATIONS } from '../places.ts';

export async function command({ DATABASE_URL }: Config): Promise<void> {
  if (!DATABASE_URL) throw new Error('Set DATABASE_URL; an embedded installation migrates by itself when it starts');
  const fresh = await applyMigrations(DATABASE_URL, MIGRATIONS);
  process.stdout.write(fresh.length > 0 ? `Applied:\n${fresh.map((name) => `  ${name}\n`).join('')}` : 'Nothing to apply\n');
}
