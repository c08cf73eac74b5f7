// Writes docs/events.md from the map of events: `npm run event-docs`.
import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import { EVENT_TYPES } from '../src/contracts/events.ts';
import { LOG_EVENTS } from '../src/contracts/log-events.ts';

interface JsonSchema {
  type?: string | string[];
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

/** The page as text. */
export const formatEventsPage = () => `# Events of a run

A run reports what it does as events. \`GET /api/workflows/{id}/stream\` sends them as they happen, \`perdura logs -f\` prints them, and the
dashboard shows them. [durability.md](durability.md) describes how a stream is resumed.

\`\`\`json
{"type": "log", "data": {"event": "model_call", "detail": "my-model", "step": 1}, "timestamp": "2026-01-31T12:00:00.000Z"}
\`\`\`

This page is written by \`npm run event-docs\` from \`src/contracts/events.ts\` and \`src/contracts/log-events.ts\`. So are \`/openapi.json\`
and the types of the TypeScript client, which distinguish events by \`type\` and \`event\`. A field with \`?\` may be absent. Later versions
add events and fields: ignore those that you do not know.

## Types

${toTable('type', 'when', Object.entries(EVENT_TYPES))}

## Log events

An event of the type \`log\` has its name in \`data.event\` and a sentence for people in \`data.detail\`.

${toTable('event', 'when', Object.entries(LOG_EVENTS))}
`;

function toTable(name: string, when: string, schemas: [string, z.ZodObject][]): string {
  const rows = schemas.map(
    ([key, schema]) =>
      `| \`${key}\` | ${schema.description} | ${listFields(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema)} |`,
  );
  return [`| ${name} | ${when} | fields |`, '|---|---|---|', ...rows].join('\n');
}

const listFields = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties)
    .filter(([name]) => name !== 'detail')
    .map(([name, schema]) => `\`${name}\`${required.includes(name) ? '' : '?'} ${formatType(schema)}`)
    .join(', ');

function formatType({
  $ref,
  type = 'value',
  const: only,
  enum: values = only === undefined ? [] : [only],
  anyOf,
  items,
}: JsonSchema): string {
  if (values.length > 0) return values.map((value) => `\`${value}\``).join(' or ');
  if ($ref) return $ref.split('/').at(-1) as string;
  if (anyOf) return anyOf.map(formatType).join(' or ');
  return items ? `${formatType(items)}[]` : [type].flat().join(' or ');
}

if (import.meta.main) writeFileSync(new URL('../docs/events.md', import.meta.url), formatEventsPage());
