import type { FieldError } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';

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

/**
 * Returns an error for each field that refers to a missing record. `before` is the record to change: its existing references may
 * be sent back, because an import may have left some that refer to missing records.
 */
export async function listReferenceErrors(
  store: Pick<Store, 'missing'>,
  values: Record<string, unknown>,
  references: Record<string, Table>,
  before: object | null = null,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [field, table] of Object.entries(references)) {
    const previous_ids = listIds(before, field);
    const ids = listIds(values, field).filter((id) => !previous_ids.includes(id));
    const missing = await store.missing(table, ids);
    if (missing.length > 0) errors.push({ path: field, message: `No ${NOUNS[table]} with id ${missing.join(', ')}` });
  }
  return errors;
}

const listIds = (record: object | null, field: string) =>
  [(record as Record<string, unknown> | null)?.[field] ?? []].flat() as string[];
