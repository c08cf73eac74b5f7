import { z } from 'zod';
import { AgentCreate } from './agents.ts';
import { isProtective } from './common.ts';
import { McpServerCreate } from './mcps.ts';
import { WorkflowCreate } from './workflows.ts';

/** Records with fields that protect. A unit test compares them with all operations. */
const PROTECTED: Record<string, z.ZodObject> = {
  'an agent': AgentCreate,
  'a workflow': WorkflowCreate,
  'an MCP server': McpServerCreate,
};

/** Whether a field, or what it wraps, is marked as protective. */
export function protects(schema: z.ZodType): boolean {
  if (isProtective(schema)) return true;
  const wrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return wrapped && protects(schema.unwrap() as z.ZodType);
}

/** Every field that protects, with the record that it belongs to. */
export const PROTECTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries(PROTECTED).flatMap(([owner, { shape }]) =>
    Object.entries(shape)
      .filter(([, field]) => protects(field as z.ZodType))
      .map(([name]) => [name, owner] as const),
  ),
);
