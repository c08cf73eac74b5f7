import { z } from 'zod';
import type { QuestionField } from '../domain/questions.ts';
import { Id, Timestamp } from './common.ts';

const Field = z.custom<QuestionField>().meta({
  type: 'object',
  properties: { type: { type: 'string' }, title: { type: 'string' }, description: { type: 'string' } },
  required: ['type'],
  additionalProperties: true,
  description: 'A JSON Schema of one type: string, number, integer, boolean, or array of choices',
});

export const CallQuestion = z
  .object({
    id: Id,
    message: z.string(),
    asked_by: z
      .object({
        server: z.string().meta({ description: 'The name of the MCP server' }),
        host: z.string().nullable().meta({ description: 'Where it is; null: it is a command on a worker' }),
      })
      .meta({ description: 'Who gets the answer' }),
    schema: z.object({ properties: z.record(z.string(), Field), required: z.array(z.string()).optional() }),
    asked_at: Timestamp,
    expires_at: Timestamp.meta({ description: 'When the server gets `cancel`, if nobody has answered' }),
  })
  .meta({ id: 'CallQuestion', description: 'What the tool of a call in progress asks a person; null if it waits for no answer' });
export type CallQuestion = z.output<typeof CallQuestion>;
