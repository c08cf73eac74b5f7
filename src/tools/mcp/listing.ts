import { setImmediate } from 'node:timers/promises';
import type { ResourceTool, ToolSpec } from '../../domain/definition.ts';
import type { ToolEffect } from '../../domain/effects.ts';
import { isTooDeep, storableValue } from '../../domain/normalise.ts';
import { OutsideRefused } from '../../domain/outside.ts';
import { modelName } from '../../domain/tool-names.ts';
import { storable } from '../../domain/transcript.ts';
import type { McpListedTool } from '../../store/resources/mcp-listings.ts';

export interface ListedTool {
  tool: string;
  spec: ToolSpec;
  /** Set if the tool is Perdura's, for the resources of the server. */
  resource_tool?: ResourceTool;
  /** Set if the server executes the tool only as a task. */
  needs_task?: true;
}

export interface Listing {
  tools: ListedTool[];
  /** A sentence for each problem of the list. */
  problems: string[];
  /** Tools that cannot be offered, with the reason for each. */
  refused_tools: { tool: string; reason: string }[];
}

/** Converts a listed tool to the record that is stored with the server. */
export function toMcpToolRecord({ tool: name, spec }: ListedTool): McpListedTool {
  const { description, parameters, effect } = spec;
  return { name, description, parameters, effect };
}

const MOST_PAGES = 50;
const MOST_TOOLS = 500;
/** The most tools of one server, usable or not; the rest of a longer list is not read. */
const MOST_LISTED = 5_000;
const MOST_PROBLEMS = 50;
const OWN_NAME_CHARACTERS = 256;
const DESCRIPTION_CHARACTERS = 8_000;
const SCHEMA_CHARACTERS = 64_000;

/** Returns the fault of each of a server's schemas; null if there is none. Never rejects. */
export type SchemaFaults = (schemas: readonly unknown[]) => Promise<(string | null)[]>;

interface ListingPorts {
  schemaFaults: SchemaFaults;
  /** Returns why a tool cannot be called over this connection; null if it can. */
  findObstacle(schema: unknown): string | null;
}

/** Lists all tools of a server, which `ask` asks for each page. A malformed one is reported and left out; it does not affect the others. */
export async function listTools(ask: (params: object) => Promise<object>, ports: ListingPorts): Promise<Listing> {
  const listing: Listing = { tools: [], problems: [], refused_tools: [] };
  let cursor: string | undefined;
  let count = 0;
  for (let page = 0; listing.tools.length < MOST_TOOLS; page += 1) {
    if (page === MOST_PAGES) {
      const read = `${MOST_PAGES} pages with ${listing.tools.length} tools were read`;
      listing.problems.push(`Its list of tools does not end; ${read}`);
      return listing;
    }
    const { tools, nextCursor } = (await ask(cursor === undefined ? {} : { cursor })) as {
      tools?: unknown;
      nextCursor?: unknown;
    };
    const all: unknown[] = Array.isArray(tools) ? tools : [];
    count += all.length;
    if (count > MOST_LISTED) throw new OutsideRefused(`it lists more than ${MOST_LISTED} tools`, 'mcp_listing_too_large');
    const page_tools = all.slice(0, MOST_TOOLS - listing.tools.length);
    for (const [index, schema_error] of (await findSchemaErrors(page_tools, ports)).entries()) {
      addTool(page_tools[index], schema_error, listing);
      // A page may contain megabytes of schemas, so other work runs between two pages.
      await setImmediate();
    }
    if (page_tools.length < all.length) break;
    if (typeof nextCursor !== 'string' || !nextCursor || nextCursor === cursor) return listing;
    cursor = nextCursor;
  }
  listing.problems.push(`It has more tools than are read (${listing.tools.length})`);
  return listing;
}

interface WiredTool {
  name?: unknown;
  description?: unknown;
  inputSchema?: unknown;
  annotations?: { readOnlyHint?: unknown; idempotentHint?: unknown };
  execution?: { taskSupport?: unknown };
}

function addTool(value: unknown, schema_error: string | null, { tools, problems, refused_tools }: Listing): void {
  const { name, description, inputSchema, annotations, execution } = (value ?? {}) as WiredTool;
  const note = (problem: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(storable(problem));
  };
  if (typeof name !== 'string' || name === '') {
    note('It names a tool without a name');
    return;
  }
  const long = name.length > OWN_NAME_CHARACTERS ? `its name is longer than ${OWN_NAME_CHARACTERS} characters` : null;
  const reason = long ?? (storable(name) === name ? schema_error : 'its name is not plain text');
  if (reason) {
    const tool = storable(name.slice(0, OWN_NAME_CHARACTERS));
    if (refused_tools.length < MOST_PROBLEMS) refused_tools.push({ tool, reason });
    note(`Its tool ${tool} cannot be offered: ${reason}`);
    return;
  }
  const spec: ToolSpec = {
    name: modelName(name),
    description: typeof description === 'string' ? storable(description.slice(0, DESCRIPTION_CHARACTERS)) : '',
    parameters: storableValue(inputSchema as Record<string, unknown>, 'mcp_listing_too_large'),
    effect: toEffect(annotations),
  };
  tools.push({ tool: name, spec, ...(execution?.taskSupport === 'required' && { needs_task: true }) });
}

/** Checks each schema before it is offered: model endpoints refuse a whole request because of one bad schema. */
async function findSchemaErrors(
  tools: readonly unknown[],
  { schemaFaults, findObstacle }: ListingPorts,
): Promise<(string | null)[]> {
  const schemas = tools.map((tool) => ((tool ?? {}) as WiredTool).inputSchema);
  const shapes: (string | null)[] = [];
  for (const schema of schemas) {
    shapes.push(findShapeProblem(schema) ?? findObstacle(schema));
    await setImmediate();
  }
  const checkable = schemas.filter((_, index) => shapes[index] === null);
  const schema_errors = checkable.length > 0 ? await schemaFaults(checkable) : [];
  const remaining_errors = schema_errors.values();
  return shapes.map((shape) => {
    if (shape !== null) return shape;
    const error = remaining_errors.next().value ?? null;
    return error === null ? null : `its input schema is not valid (${error})`;
  });
}

function findShapeProblem(schema: unknown): string | null {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'it has no input schema';
  if ((schema as { type?: unknown }).type !== 'object') return 'its input schema is not of an object';
  if (isTooDeep(schema)) return 'its input schema is nested too deep';
  if (JSON.stringify(schema).length > SCHEMA_CHARACTERS) return 'its input schema is too large';
  return null;
}

/** Derives the effect from the server's hints; without a hint, a call counts as a write. */
function toEffect(hints: WiredTool['annotations']): ToolEffect {
  if (hints?.readOnlyHint === true) return 'read';
  return hints?.idempotentHint === true ? 'idempotent' : 'write';
}
