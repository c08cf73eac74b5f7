import { ApplicationFailure } from '@temporalio/activity';
import type { OfferedTool } from '../../../domain/definition.ts';
import { isUnknownFinish } from '../../../domain/finish.ts';
import { parseResponse } from '../../../domain/json-answers.ts';
import { invalidAnswer, repairRequest } from '../../../domain/output-schema.ts';
import { DELTA_CHARACTERS, piecesOfText } from '../../../domain/pieces.ts';
import type { ExchangeResult, PlannedCall } from '../../../domain/run-loop.ts';
import { asksFirst } from '../../../domain/tool-guards.ts';
import { findMeantTool } from '../../../domain/tool-names.ts';
import { REPAIR_POSITION, storable, type TranscriptMessage, toCallId } from '../../../domain/transcript.ts';
import { addUsage, toPricing, toUsage } from '../../../domain/usage.ts';
import { createTaskEvents, type NewEvent } from '../../../events/task-events.ts';
import type { ModelReply } from '../../../runtimes/runtime.ts';
import type { SelectedRuntime } from '../../../runtimes/select.ts';
import type { OpenRun, PublishedTexts, StepRecord } from '../../../store/runs/runs.ts';
import { retryWhileDown, staleAttempt } from '../attempt.ts';
import { toProviderCallEvents } from '../made-there.ts';
import { type ExchangeAttempt, settleReservation } from './attempt.ts';

/**
 * Returns the calls of a recorded reply, or why the model is asked again after an answer. A reply that a guardrail withheld ends the run,
 * and so does an answer that was rejected after its repair.
 */
export function getRecordedCalls({ messages, calls }: Pick<OpenRun, 'messages' | 'calls'>, step: number): ExchangeResult {
  const findMessage = (kind: TranscriptMessage['kind']) =>
    messages.find((message) => message.step === step && message.kind === kind);
  const withheld = findMessage('withheld');
  if (withheld) throw ApplicationFailure.nonRetryable(withheld.content, 'guardrail_blocked');
  const invalid = findMessage('invalid');
  if (invalid) throw ApplicationFailure.nonRetryable(invalid.content, 'output_invalid');
  if (findMessage('repair')) return 'repair';
  return calls.length === 0 && findMessage('steer') ? 'steered' : calls;
}

export interface ModelAnswer {
  reply: ModelReply;
  cursor: unknown;
  offered: OfferedTool[];
  selected: SelectedRuntime;
  /** The published texts, if they make up the whole reply; null: the reply is sent again as a whole. */
  published: PublishedTexts | null;
}

export async function recordReply(work: ExchangeAttempt, answer: ModelAnswer, signal: AbortSignal): Promise<ExchangeResult> {
  const { ports, run, order } = work;
  const { entry, planned_calls, resent } = await buildEntry(work, answer);
  const recording = () => ports.runs.record(run, entry);
  const first = await retryWhileDown(recording, signal);
  // The database was restored to an earlier state while the text was published, so readers have text that is not on record.
  const recordAgain = () => ports.runs.record(run, { ...entry, published: null, events: [...resent, ...entry.events] });
  const outcome = first === 'text_differs' ? await retryWhileDown(recordAgain, signal) : first;
  if (settleReservation(work, outcome === true || outcome === 'steered'))
    return outcome === 'steered' ? outcome : getRecordedCalls({ messages: entry.messages, calls: planned_calls }, order.step);
  const now = await retryWhileDown(() => ports.runs.open(run.task_id, order.step), signal);
  if (!now?.recorded) throw staleAttempt();
  return getRecordedCalls(now, order.step);
}

/** Builds the record of a reply, with the calls to make. */
async function buildEntry(
  work: ExchangeAttempt,
  { reply, cursor, offered, selected, published }: ModelAnswer,
): Promise<{ entry: StepRecord; planned_calls: PlannedCall[]; resent: NewEvent[] }> {
  const { ports, run, definition, order, position } = work;
  const { log, message, usage, delta } = createTaskEvents(run.task_id, ports.now);
  const judgement = await judgeReply({ ports, run, definition }, reply);
  const tools = new Map(offered.map((tool) => [tool.name, tool]));
  // Guards, the ledger and the tool itself all use this name.
  const model_calls = (judgement.withheld ? [] : reply.calls).map((call) => ({ ...call, name: findMeantTool(call.name, tools) }));
  const calls = model_calls.map((call, index) => ({
    call_id: toCallId(order.step, index),
    position: index + 1,
    name: storable(call.name),
    arguments: storable(call.arguments),
    effect: tools.get(call.name)?.effect ?? ('read' as const),
    approval: asksFirst(definition, tools.get(call.name) ?? { name: call.name, effect: 'read' }),
  }));
  const { content } = judgement;
  // A text that a guardrail changes or withholds may be in the thinking, too.
  const reasoning = ports.holdsBack(definition) ? undefined : reply.reasoning;
  const final = calls.length === 0 && !judgement.withheld;
  const rejected = final ? await findRejection(work, content) : null;
  const output_format = definition.output_schema ? 'json' : definition.settings.output_format;
  const tool_calls = calls.map(({ call_id, name, arguments: args }) => ({ call_id, name, arguments: args }));
  const attempt_usage = toUsage(reply, toPricing(definition, selected.prices));
  const texts = [...piecesOfText(content, DELTA_CHARACTERS)].map((piece) => delta(piece));
  const resent = [log('attempt_reset', 'The whole text is sent again', { step: order.step }), ...texts];
  const entry: StepRecord = {
    step: order.step,
    model: reply.model ?? definition.model,
    provider: definition.provider && { id: definition.provider.id, name: definition.provider.name },
    fallback: position,
    finish: reply.finish,
    usage: attempt_usage,
    reservation: work.reservation,
    messages: [
      {
        step: order.step,
        position: 0,
        role: 'assistant',
        kind: judgement.withheld ? 'withheld' : 'reply',
        content,
        tool_calls: tool_calls,
        call_id: null,
        extra: reasoning ? { ...(reply.extra as object | null), reasoning } : reply.extra,
      },
      ...(rejected ? [rejected.message] : []),
    ],
    calls,
    cursor,
    response: final && !rejected ? parseResponse(content, output_format) : undefined,
    published,
    events: [
      ...(published || content === '' ? [] : resent),
      ...(reply.made_there ?? []).flatMap((call) => toProviderCallEvents(call, log)),
      log('model_response', reply.finish, { step: order.step, ...(isUnknownFinish(reply.finish) ? { unknown: true } : {}) }),
      ...judgement.events,
      message('assistant', content, {
        step: order.step,
        ...(tool_calls.length > 0 ? { tool_calls: tool_calls } : {}),
        ...(reply.finish === 'length' ? { truncated: true } : {}),
        ...(reasoning ? { reasoning: truncateReasoning(reasoning) } : {}),
      }),
      ...(rejected ? [rejected.event] : []),
      usage(addUsage(run, attempt_usage)),
    ],
  };
  const planned_calls = calls.map(({ call_id, name }) => ({
    call_id,
    name,
    ...(tools.get(name)?.brief ? { brief: true as const } : {}),
  }));
  return { entry, planned_calls, resent };
}

/** What an event shows of the thinking; the whole of it is kept with the reply. */
const SHOWN_CHARACTERS = 16_000;

const truncateReasoning = (text: string) =>
  text.length > SHOWN_CHARACTERS ? `${storable(text.slice(0, SHOWN_CHARACTERS))} […]` : text;

/**
 * Returns the consequence of a final answer that does not fit the output schema: a request for another answer, or the reason why
 * the run fails.
 */
async function findRejection({ ports, run, definition, order }: ExchangeAttempt, text: string) {
  const errors = await ports.listOutputErrors(definition, text, run.owner);
  if (errors.length === 0) return null;
  const content = storable(order.repaired ? invalidAnswer(errors) : repairRequest(errors));
  const message: TranscriptMessage = {
    step: order.step,
    position: REPAIR_POSITION,
    ...(order.repaired ? { role: 'system', kind: 'invalid' } : { role: 'user', kind: 'repair' }),
    content,
    tool_calls: null,
    call_id: null,
    extra: null,
  };
  const { log } = createTaskEvents(run.task_id, ports.now);
  return { message, event: log('output_rejected', content, { step: order.step, final: order.repaired === true }) };
}

/** Returns a reply's text after the guardrails, or the reason why it is withheld. */
async function judgeReply(
  { ports, run, definition }: Pick<ExchangeAttempt, 'ports' | 'run' | 'definition'>,
  { text, calls }: ModelReply,
) {
  const { log } = createTaskEvents(run.task_id, ports.now);
  const verdict = await ports.judge(definition, storable(text), { final: calls.length === 0, owner: run.owner });
  const events = verdict.findings.map(({ guardrail, action, reasons }) =>
    log('output_guardrail_violation', `${guardrail}: ${reasons.join('; ')}`, { guardrail, action, reasons }),
  );
  if (verdict.text !== null) return { content: storable(verdict.text), withheld: false, events };
  // The last finding is the one that withheld it.
  const { guardrail, reasons } = verdict.findings.at(-1)!;
  const content = `The guardrail ${guardrail} withheld the model's answer: ${reasons.join('; ')}`;
  return { content, withheld: true, events: [...events, log('guardrail_blocked', content, { guardrail })] };
}
