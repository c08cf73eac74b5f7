import { readdirSync } from 'node:fs';

export interface Listed {
  file: string;
  exported: string;
  name: string;
  text: string;
}

const FOLDER = new URL('../../src/store/statements/', import.meta.url);

/** Every prepared statement of the store, found in its folder. */
export async function allStatements(): Promise<Listed[]> {
  const listed = await Promise.all(
    readdirSync(FOLDER).map(async (file) => {
      const values: Record<string, unknown> = await import(new URL(file, FOLDER).href);
      return Object.entries(values).flatMap(([exported, value]) => {
        const prepared = (value as { prepared?: { name: string; text: string } } | null)?.prepared;
        return prepared ? [{ file, exported, ...prepared }] : [];
      });
    }),
  );
  return listed.flat();
}
