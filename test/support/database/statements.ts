import { readdirSync } from 'node:fs';

export interface Listed {
  file: string;
  exported: string;
  name: string;
  text: string;
}

const FOLDER = new URL('../../../src/store/', import.meta.url);

/** Returns every prepared statement of the store: those of all files named `*.sql.ts`. */
export async function allStatements(): Promise<Listed[]> {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql.ts'));
  const listed = await Promise.all(
    files.map(async (file) => {
      const values: Record<string, unknown> = await import(new URL(file, FOLDER).href);
      return Object.entries(values).flatMap(([exported, value]) => {
        const prepared = (value as { prepared?: { name: string; text: string } } | null)?.prepared;
        return prepared ? [{ file, exported, ...prepared }] : [];
      });
    }),
  );
  return listed.flat();
}
