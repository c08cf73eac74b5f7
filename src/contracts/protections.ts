import { z } from 'zod';
import { AgentCreate } from './agents.ts';
import { isProtective } from './common.ts';
import { McpServerCreate } from './mcps.ts';
import { WorkflowCreate } from './workflows.ts';

/** Records with protective fields. A unit test compares them with all operations. */
const PROTECTED: Record<string, z.ZodObject> = {
  'an agent': AgentCreate,
  'a workflow': WorkflowCreate,
  'an MCP server': McpServerCreate,
};

/** True if a field, or the schema that it wraps, is marked as protective. */
export function protects(schema: z.ZodType): boolean {
  if (isProtective(schema)) return true;
  const wrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return wrapped && protects(schema.unwrap() as z.ZodType);
}

/** Every protective field, with the record that it belongs to. */
export const PROTECTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries(PROTECTED).flatMap(([owner, { shape }]) =>
    Object.entries(shape)
      .filter(([, field]) => protects(field as z.ZodType))
      .map(([name]) => [name, owner] as const),
  ),
);
