import { z } from 'zod';
import { Id, ListQuery, Timestamp, TOOL_EFFECTS } from './common.ts';
import { endpoint } from './endpoint.ts';
import { CallQuestion } from './questions.ts';

export const INBOX_KINDS = ['approval', 'question', 'client', 'reconciliation', 'budget', 'behind'] as const;
export type InboxKind = (typeof INBOX_KINDS)[number];

/** The most characters of a call's arguments, and of a prompt, in one item. */
export const SHOWN_ARGUMENTS = 4_000;
export const SHOWN_PROMPT = 300;

export const InboxItem = z
  .object({
    id: z.string().meta({ description: 'Of the decision, as long as it is open' }),
    kind: z.enum(INBOX_KINDS).meta({
      description:
        '`approval`: a call needs an approval. `question`: a tool asks a person. `client`: the program of the prompt has to send the ' +
        'result of a call. `reconciliation`: a call may have taken effect. `budget`: the budget of the run or one above it is used up, or a model has no price. ' +
        '`behind`: the installation was restored from a record older than the run',
    }),
    task_id: Id,
    call_id: z.string().nullable().meta({ description: 'null: the run as a whole waits' }),
    tool: z.string().nullable(),
    effect: z.enum(TOOL_EFFECTS).nullable(),
    arguments: z
      .string()
      .nullable()
      .meta({ description: `The model's own text, the first ${SHOWN_ARGUMENTS.toLocaleString('en')} characters` }),
    arguments_cut: z.boolean().meta({ description: 'Whether `arguments` is only the beginning' }),
    question: CallQuestion.nullable(),
    record_behind: z.string().nullable().meta({ description: 'What the record lacks of what the run has done' }),
    workflow_id: Id,
    workflow_title: z.string().nullable(),
    agent_id: Id,
    agent_name: z.string(),
    prompt: z.string().meta({ description: `The first ${SHOWN_PROMPT} characters` }),
    waiting_since: Timestamp,
  })
  .meta({ id: 'InboxItem', description: 'One decision that a run waits for' });
export type InboxItem = z.output<typeof InboxItem>;

const InboxQuery = ListQuery.extend({
  kind: z.enum(INBOX_KINDS).optional(),
  task_id: Id.optional(),
  workflow_id: Id.optional(),
  agent_id: Id.optional(),
  tool: z.string().optional().meta({ description: 'Part of the name of the tool' }),
});
export type InboxQuery = z.output<typeof InboxQuery>;

export const inbox = {
  list: endpoint('GET /api/inbox', {
    operation: 'list_inbox',
    tag: 'Tasks',
    summary: "List the decisions that the caller's runs wait for, the oldest first",
    description:
      'One item for each call, and one for a run that waits as a whole. Decide with `POST /api/tasks/{id}/approvals/{call_id}`, ' +
      '`…/answers/{call_id}`, `…/reconciliations/{call_id}` or `…/continuity`. A run that waits for a `budget` continues when there is room: ' +
      'raise its own with `…/budget`, or the one above it with `PUT /api/budgets/{id}`, or set a price.',
    query: InboxQuery,
    reply: InboxItem,
    kind: 'page',
  }),
};
