/**
 * Copies a SQLite database to a new file, even while a server writes to it. The copy holds the state of one moment, including
 * its journal. Writers do not wait.
 */
export async function copyEngine(database: string, file: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite').catch(() => {
    throw new Error(`Backups need Node 22.13 or newer, and this is ${process.versions.node}`);
  });
  // The engine's schema has double-quoted string literals.
  const open = new DatabaseSync(database, { timeout: BUSY_MS, enableDoubleQuotedStringLiterals: true });
  try {
    open.prepare('VACUUM INTO ?').run(file);
  } finally {
    open.close();
  }
}

const BUSY_MS = 30_000;
