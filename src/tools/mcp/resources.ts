import type { ResourceTool } from '../../domain/definition.ts';
import { pickTexts } from '../../domain/outside.ts';
import { modelName } from '../../domain/tool-names.ts';
import { storable } from '../../domain/transcript.ts';
import type { ToolOutcome } from '../source.ts';
import type { ListedTool, Listing } from './listing.ts';
import { type CallResult, toMcpOutcome } from './result.ts';

const METHODS = { read_resource: 'resources/read', list_resources: 'resources/list' } as const;

type Ask = (request: { method: string; params: object }) => Promise<object>;

const DESCRIPTION_CHARACTERS = 4_000;

/**
 * Adds the tools by which a model reads the resources of a server. The first describes what there is; the second is only there if
 * that is not all. A server whose own tool has such a name keeps it. Rejects if the server does not list its resources.
 */
export async function addResourceTools(listing: Listing, server_name: string, ask: Ask): Promise<void> {
  const { resources, nextCursor } = (await ask({ method: METHODS.list_resources, params: {} })) as Page;
  const templates = await ask({ method: 'resources/templates/list', params: {} }).catch(() => ({}));
  const entries = [...readEntries(resources), ...readEntries((templates as Page).resourceTemplates)];
  // Many servers say that they have resources, and have none.
  if (entries.length === 0 && typeof nextCursor !== 'string') return;
  const { text, is_whole } = fill(entries);
  add(listing, 'read_resource', {
    description: `Reads a resource of the MCP server ${server_name} by its address. Resources:\n${text}`,
    properties: { uri: { type: 'string', description: 'The address; placeholders in braces are filled in' } },
    required: ['uri'],
  });
  if (is_whole && typeof nextCursor !== 'string') return;
  add(listing, 'list_resources', {
    description: `Lists the resources of the MCP server ${server_name}, page by page`,
    properties: { cursor: { type: 'string', description: 'The cursor of the next page; absent: the first' } },
    required: [],
  });
}

interface Page {
  resources?: unknown;
  resourceTemplates?: unknown;
  nextCursor?: unknown;
}

interface Parameters {
  description: string;
  properties: Record<string, { type: string; description: string }>;
  required: string[];
}

function add({ tools }: Listing, resource_tool: ResourceTool, { description, properties, required }: Parameters): void {
  if (tools.some(({ tool }) => tool === resource_tool)) return;
  const parameters = { type: 'object', properties, required };
  const spec = { name: modelName(resource_tool), description: storable(description), parameters, effect: 'read' as const };
  tools.push({ tool: resource_tool, resource_tool, spec } satisfies ListedTool);
}

/** Returns one line for each resource or template. */
function readEntries(list: unknown): string[] {
  return (Array.isArray(list) ? list : []).flatMap((entry) => {
    const { uri, uriTemplate = uri, name, title = name, description, mimeType } = pickTexts(entry);
    if (uriTemplate === undefined) return [];
    const facts = [title, description, mimeType].filter(Boolean).join('; ');
    return [`${uriTemplate}${facts ? ` (${facts})` : ''}`.replaceAll(/\s+/g, ' ')];
  });
}

/** Joins as many lines as fit. */
function fill(lines: readonly string[]): { text: string; is_whole: boolean } {
  let text = '';
  for (const line of lines) {
    if (text.length + line.length > DESCRIPTION_CHARACTERS) return { text, is_whole: false };
    text += `${text ? '\n' : ''}${line}`;
  }
  return { text, is_whole: true };
}

/** Returns the request that a call of one of these tools means. */
export function toResourceRequest(tool: ResourceTool, { uri, cursor }: Record<string, unknown>) {
  const params = tool === 'read_resource' ? { uri } : cursor ? { cursor } : {};
  return { method: METHODS[tool], params };
}

/** Returns what the model reads of the answer. */
export function toResourceOutcome(tool: ResourceTool, result: object): ToolOutcome {
  if (tool === 'read_resource') {
    const { contents } = result as { contents?: unknown };
    const content = (Array.isArray(contents) ? contents : []).map((resource) => ({ type: 'resource', resource }));
    return toMcpOutcome({ content } satisfies CallResult);
  }
  const { resources, nextCursor } = result as Page;
  const lines = [
    ...readEntries(resources),
    ...(typeof nextCursor === 'string' ? [`[more: cursor ${JSON.stringify(nextCursor)}]`] : []),
  ];
  return toMcpOutcome({ content: [{ type: 'text', text: lines.join('\n') }] });
}
