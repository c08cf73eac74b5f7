import { agents } from '../contracts/agents.ts';
import { conflict, type FieldError } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';
import { mountCrud, type SharedWrite } from './crud.ts';
import type { Api } from './mount.ts';

type Services = { store: Store };

const REFERENCES = {
  provider_id: 'provider',
  custom_tool_ids: 'customTool',
  mcp_server_ids: 'mcpServer',
  required_mcp_servers: 'mcpServer',
  knowledge_source_ids: 'knowledgeSource',
} as const;

export function agentRoutes(api: Api, { store }: Services, shared_write: SharedWrite): void {
  mountCrud(api, agents, {
    store: store.agents,
    shared_write,
    check: (values) => unknownReferences(store, values, REFERENCES),
    async mayRemove({ id }) {
      const workflows = await store.workflows.ofAgent(id);
      if (workflows.length > 0)
        throw conflict(`This agent is used by the workflows ${workflows.join(', ')}; delete them first`, 'in_use');
    },
  });
}

type Table = Parameters<Store['missing']>[0];

/** A message for each field that names something that does not exist. */
export async function unknownReferences(
  store: Pick<Store, 'missing'>,
  values: Record<string, unknown>,
  references: Record<string, Table>,
) {
  const errors: FieldError[] = [];
  for (const [field, table] of Object.entries(references)) {
    const ids = [values[field] ?? []].flat() as string[];
    const missing = await store.missing(table, ids);
    if (missing.length > 0) errors.push({ path: field, message: `Nothing has the id ${missing.join(', ')}` });
  }
  return errors;
}
