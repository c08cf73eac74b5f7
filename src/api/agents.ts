import { agents } from '../contracts/agents.ts';
import type { Store } from '../store/index.ts';
import { mountCrud, type SharedWrite } from './crud.ts';
import type { Api } from './mount.ts';
import { unknownReferences } from './references.ts';

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
    store: { ...store.agents, remove: store.removeAgent },
    shared_write,
    check: (values) => unknownReferences(store, values, REFERENCES),
    users: ({ id }) => store.usersOf('agent', id),
  });
}
