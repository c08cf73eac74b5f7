import type { FieldError } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';

type Table = Parameters<Store['missing']>[0];

const NOUNS: Record<Table, string> = {
  agent: 'agent',
  provider: 'provider',
  customTool: 'custom tool',
  skill: 'skill',
  guardrail: 'guardrail',
  mcpServer: 'MCP server',
  knowledgeSource: 'knowledge source',
  workflow: 'workflow',
};

/** An error for each field that refers to a missing record. */
export async function unknownReferences(
  store: Pick<Store, 'missing'>,
  values: Record<string, unknown>,
  references: Record<string, Table>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [field, table] of Object.entries(references)) {
    const ids = [values[field] ?? []].flat() as string[];
    const missing = await store.missing(table, ids);
    if (missing.length > 0) errors.push({ path: field, message: `No ${NOUNS[table]} with id ${missing.join(', ')}` });
  }
  return errors;
}
