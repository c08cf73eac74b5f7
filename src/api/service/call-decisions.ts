import type { AnswerRequest } from '../../contracts/answers.ts';
import type { CallDecision } from '../../domain/effects.ts';
import { conflict, notFound, unprocessable } from '../../domain/errors.ts';
import { type FormQuestion, listAnswerErrors } from '../../domain/questions.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { CallPlace } from '../../store/runs/tool-ledger.ts';
import type { Engine } from '../../temporal/client/engine.ts';

interface Services {
  store: Pick<Store, 'ledger'>;
  engine: Pick<Engine, 'decide'>;
}

export type CallDecisions = ReturnType<typeof createCallDecisions>;

/** Records what a person decides about calls that wait for it. The caller's right to the task is checked before. */
export function createCallDecisions({ store, engine }: Services) {
  return {
    /** Throws if there is no such call, or it does not wait for this kind of decision. */
    async decide(call: CallPlace, decision: CallDecision, caller: Caller): Promise<void> {
      const { task_id, call_id } = call;
      const events = [toDecisionEvent({ id: task_id, call_id }, decision, caller)];
      const is_decided = await store.ledger.decide(call, { decision, by: caller.key, events });
      if (!is_decided && !(await store.ledger.question(call))) throw notFound('tool call of this task', call_id);
      if (!is_decided) throw conflict(`The call ${call_id} of this task is not waiting for this decision`, NOTHING_TO_DECIDE);
      // The decision is stored: if the engine is unreachable now, the reconciler delivers it.
      await engine.decide(task_id, call_id).catch(() => {});
    },
    /** Throws if the call does not wait for an answer to this question, or the content does not fit it. */
    async answer(call: CallPlace, body: AnswerRequest, caller: Caller): Promise<void> {
      const { task_id, call_id } = call;
      const { question_id, action } = body;
      const waiting = await store.ledger.question(call);
      if (!waiting) throw notFound('tool call of this task', call_id);
      if (waiting.question?.id !== question_id) throw notAsked(call_id);
      const { key, schema } = waiting.question;
      const content = checkContent(body, schema);
      const answer = { question_id, key, action, ...(content ? { content } : {}) };
      const events = [toAnsweredEvent({ id: task_id, call_id }, body, caller)];
      if (!(await store.ledger.answerQuestion(call, { answer, by: caller.key, events }))) throw notAsked(call_id);
    },
  };
}

export const NOTHING_TO_DECIDE = 'nothing_to_decide';

const notAsked = (call_id: string) =>
  conflict(`The call ${call_id} of this task is not waiting for an answer to this question`, 'nothing_to_answer');

/** Returns the content of an answer; throws if it does not match the question. */
function checkContent(
  { action, content: sent_content }: AnswerRequest,
  schema: FormQuestion['schema'],
): AnswerRequest['content'] {
  if (action !== 'accept') {
    if (sent_content) throw unprocessable([{ path: 'content', message: `An answer with the action ${action} has no content` }]);
    return undefined;
  }
  const content = sent_content ?? {};
  const errors = listAnswerErrors(schema, content);
  if (errors.length > 0) throw unprocessable(errors.map((error) => ({ ...error, path: `content.${error.path}` })));
  return content;
}

/** Returns the event of an answer without its content, which is for the server only. */
function toAnsweredEvent({ id, call_id }: { id: string; call_id: string }, answer: AnswerRequest, { login }: Caller) {
  const { log } = createTaskEvents(id, () => new Date().toISOString());
  const { question_id, action: outcome } = answer;
  return log('question_answered', `${login} answered: ${outcome}`, { call_id, question_id, outcome, by: login });
}

function toDecisionEvent(
  { id, call_id }: { id: string; call_id: string },
  { decision, message }: CallDecision,
  { login }: Caller,
) {
  const { log } = createTaskEvents(id, () => new Date().toISOString());
  const name = decision === 'approve' || decision === 'deny' ? 'approval_decided' : 'reconciliation_decided';
  return log(name, `${login} decided: ${decision}`, { call_id, decision, by: login, ...(message ? { message } : {}) });
}
