import { z } from 'zod';
import { listTopLevel, readMember } from './archive.ts';

/** The description of a backup, which is its first file. */
const Manifest = z.object({
  format: z.literal(1),
  perdura: z.string(),
  taken_at: z.iso.datetime(),
  /** The major version of Postgres. Its files can be read only by the same version on the same kind of processor. */
  postgres: z.string(),
  processor: z.string(),
  /** The applied migrations as the database records them. */
  migrations: z.array(z.object({ migration_name: z.string(), logs: z.string().nullable() })),
  with_key: z.boolean(),
});
export type Manifest = z.output<typeof Manifest>;

export const MANIFEST = 'manifest.json';
export const ENGINE_COPY = 'temporal.db';
export const CLUSTER_COPY = 'postgres.tar';

export const KEY = 'encryption-key';

/** The files and folders of a home that a backup contains in addition to the copies of its databases. */
export const KEPT = ['postgres/password', KEY, 'local-token', 'webhook-secret', 'ports', 'workspaces', 'mcp-state', 'tools-venv'];

/** The entries of a home that belong to one machine or one start. A home with nothing else counts as empty. */
export const LEFT_OUT = [/^(bin|cache)$/, /^(ready|epoch)\.json/, /\.log$/, /\.lock\.\d+(\.[0-9a-f]+)?$/];

/** Reads a backup to its end, which verifies its checksum. Throws a sentence if the file is not a backup or not complete. */
export async function readBackup(file: string): Promise<Manifest> {
  const entries = await listTopLevel(file).catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      error.code ? `${file} cannot be read: ${error.message}` : `${file} is damaged or incomplete: ${error.message}`,
    );
  });
  const manifest = Manifest.safeParse(tryParseJson((await readMember(file, MANIFEST)) ?? ''));
  if (manifest.success && [ENGINE_COPY, CLUSTER_COPY].every((name) => entries.has(name))) return manifest.data;
  throw new Error(`${file} is not a backup that this version of Perdura can read`);
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
