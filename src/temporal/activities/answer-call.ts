import { decideMove } from '../../domain/effects.ts';
import { forkAnswer } from '../../domain/fork.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { ForkStore } from '../../store/runs/forks.ts';
import type { OpenCall, ToolLedger } from '../../store/runs/tool-ledger.ts';
import { staleAttempt } from './attempt.ts';

export interface AnswerPorts {
  ledger: Pick<ToolLedger, 'answer'>;
  forks: Pick<ForkStore, 'listRecords'>;
  now(): string;
}

/**
 * Answers a call of a fork from its source's record, or refuses it, depending on the fork's `effects`. Returns false if the call
 * must be executed.
 */
export async function answerFromRecord(ports: AnswerPorts, call: OpenCall): Promise<boolean> {
  const { fork, call_id, name, task_id } = call;
  if (!fork || fork.effects === 'live' || call.attempts > 0 || decideMove(call) === 'nothing') return false;
  const records = await ports.forks.listRecords({ ...call, fork });
  const answer = forkAnswer(call, { effects: fork.effects, evaluated: fork.task_id === null, ...records });
  if (!answer) return false;
  const { log, message } = createTaskEvents(task_id, ports.now);
  const { content, failed, answered_by, files } = answer;
  const events = [
    log('tool_call', name, { call_id, name, arguments: call.arguments, answered_by }),
    log('tool_result', name, { call_id, name, failed, answered_by, ...(files && { files }) }),
    message('tool', content, { call_id, name }),
  ];
  if (!(await ports.ledger.answer(call, { ...answer, events }))) throw staleAttempt();
  return true;
}
