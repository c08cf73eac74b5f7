import type { z } from 'zod';
import { EXPORTED, type ResourceType } from '../../contracts/transfer.ts';

/** The lists of a bundle. */
type Part = 'skills' | 'guardrails' | 'knowledge_sources' | 'agents' | 'workflows';

export interface DeclaredKind {
  type: ResourceType;
  part: Part;
  path: string;
  /** The field that names a resource for files and people. */
  title: 'name' | 'title';
  /** Fields of files that hold names instead of ids, each with the API's field for the ids and the kind that it names. */
  names: Record<string, { field: string; of: NamedType }>;
  fields: z.ZodObject;
}

/** The kinds that a file may refer to by name. */
export type NamedType = ResourceType | 'provider' | 'custom_tool' | 'mcp_server';

/** The routes that list the kinds that cannot be declared. */
export const LISTS = {
  provider: 'GET /api/providers',
  custom_tool: 'GET /api/custom-tools',
  mcp_server: 'GET /api/mcps',
} as const;

const kind = (
  type: ResourceType,
  facts: Omit<DeclaredKind, 'type' | 'fields' | 'title' | 'names'> & Partial<DeclaredKind>,
): DeclaredKind => ({
  type,
  title: 'name',
  names: {},
  fields: EXPORTED[type],
  ...facts,
});

/** The kinds in the order of creation: those that others refer to come first. */
export const DECLARED_KINDS: readonly DeclaredKind[] = [
  kind('skill', { part: 'skills', path: '/api/skills' }),
  kind('guardrail', { part: 'guardrails', path: '/api/guardrails' }),
  kind('knowledge_source', { part: 'knowledge_sources', path: '/api/knowledge-sources' }),
  kind('agent', {
    part: 'agents',
    path: '/api/agents',
    names: {
      provider: { field: 'provider_id', of: 'provider' },
      custom_tools: { field: 'custom_tool_ids', of: 'custom_tool' },
      mcp_servers: { field: 'mcp_server_ids', of: 'mcp_server' },
      knowledge_sources: { field: 'knowledge_source_ids', of: 'knowledge_source' },
    },
  }),
  kind('workflow', {
    part: 'workflows',
    path: '/api/workflows',
    title: 'title',
    names: {
      agent: { field: 'agent_id', of: 'agent' },
      skills: { field: 'skill_ids', of: 'skill' },
      guardrails: { field: 'guardrail_ids', of: 'guardrail' },
    },
  }),
];

export type Fields = Record<string, unknown>;

/** A resource as a file declares it. */
export interface Declared {
  kind: DeclaredKind;
  /** The id in an export; null in files that people write. */
  id: string | null;
  title: string;
  fields: Fields;
  /** The file, and the position in it. */
  place: string;
}
