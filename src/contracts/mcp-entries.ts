import { z } from 'zod';

/** A server in the common spelling. An import takes others, too. */
export const McpEntry = z.object({
  type: z.string().optional(),
  transport: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  disabled: z.boolean().optional(),
  allowed_tools: z.array(z.string()).min(1, 'The list allows no tool: name some, or leave it out to allow all').optional(),
});
export type McpEntry = z.output<typeof McpEntry>;

/** Described as the common spelling. It is read later, one entry at a time, so that a bad one refuses only itself. */
const McpEntryRead = z.unknown().meta({
  override: ({ jsonSchema }: { jsonSchema: object }) => void Object.assign(jsonSchema, z.toJSONSchema(McpEntry, { io: 'input' })),
});
const readServers = (entry: z.ZodType) => z.union([z.record(z.string(), entry), z.array(z.unknown())]).optional();

export const McpImport = z
  .looseObject({
    mcpServers: readServers(McpEntryRead).meta({
      description:
        'Servers by name, each with `command`, `args` and `env`, or with `url` and `headers`; a list of servers with `name` is read, too',
    }),
    servers: readServers(z.unknown()).meta({ description: 'The same, as VS Code spells it' }),
    mcp: z.unknown().optional().meta({ description: 'The same, as opencode spells it, or as settings of VS Code wrap it' }),
  })
  .meta({ id: 'McpImport', example: { mcpServers: { files: { command: 'npx', args: ['-y', 'files-mcp'] } } } });
