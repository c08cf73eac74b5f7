import { readdirSync } from 'node:fs';

export interface Listed {
  file: string;
  exported: string;
  name: string;
  text: string;
  /** The names of its values, in their order. */
  parameters: string[];
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
        return prepared ? [{ file, exported, ...prepared, parameters: listParameters(value as Called) }] : [];
      });
    }),
  );
  return listed.flat();
}

type Called = (values: object) => { values: string[] };

/** A statement puts the value of each name into its place: here the value is the name. */
const listParameters = (statement: Called): string[] => statement(new Proxy({}, { get: (_, name) => name })).values;
