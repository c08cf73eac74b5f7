import { z } from 'zod';
import { ANSWER_ACTIONS } from '../domain/questions.ts';
import { Id } from './common.ts';
import { endpoint } from './endpoint.ts';
import { Task } from './tasks.ts';

const Value = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

export const AnswerRequest = z
  .object({
    question_id: Id.meta({ description: 'The question that is answered: the call may have asked another one since' }),
    action: z.enum(ANSWER_ACTIONS),
    content: z.record(z.string(), Value).optional().meta({ description: 'Of `accept`: the fields by name' }),
  })
  .meta({
    id: 'AnswerRequest',
    example: { question_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be003', action: 'accept', content: { email: 'ada@example.com' } },
  });
export type AnswerRequest = z.output<typeof AnswerRequest>;

export const questionAnswers = {
  give: endpoint('POST /api/tasks/{id}/answers/{call_id}', {
    operation: 'answer_question',
    access: 'run',
    tag: 'Tasks',
    summary: 'Answer what a tool asks while it runs',
    description:
      'The MCP server of a call in progress asks a question (`question` of the call in `/steps`, and in the event `question_asked`). ' +
      '`accept` sends `content`, which must fit the schema of the question; `decline` and `cancel` send none. The answer goes to the ' +
      'server. It is removed from the record when the call ends.',
    params: z.object({ id: Id, call_id: z.string() }),
    body: AnswerRequest,
    reply: Task,
    refuses: [403, 409],
  }),
};
