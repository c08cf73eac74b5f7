import type { Definition } from '../../domain/definition.ts';
import { eventsOf, type RunEvent } from '../../domain/events.ts';
import type { ExchangeOrder } from '../../domain/run-loop.ts';
import { DENIAL, REMINDER_POSITION, reminderOf, type TranscriptMessage } from '../../domain/transcript.ts';
import type { OpenRun } from '../../store/runs.ts';
import type { Context } from './context.ts';

interface Opening {
  run: OpenRun;
  definition: Definition;
  order: ExchangeOrder;
  now(): string;
}

/** What is written before the model is called: messages it is to see, and events that say so. */
export function opening({ run, definition, order, now }: Opening, context: Context): Context {
  const { log, status, message } = eventsOf(run.task_id, now);
  const messages: TranscriptMessage[] = [...context.messages];
  const events: RunEvent[] = [];
  const blank = { tool_calls: null, call_id: null, extra: null };
  if (order.step === 1 && run.messages.length === 0) {
    messages.push({ ...blank, step: 0, position: 0, role: 'user', kind: 'prompt', content: run.prompt });
    events.push(status('running', order.turns), log('run_started', `Agent ${definition.agent.name}`));
    events.push(log('context_built', `${definition.skills.length} skills, ${definition.tools.length} tools`), ...context.events);
  }
  const known = new Set(run.messages.map(({ step, position }) => `${step}/${position}`));
  for (const call_id of order.denied) {
    const position = Number(call_id.split('-')[1]);
    if (known.has(`${order.step - 1}/${position}`)) continue;
    messages.push({ ...blank, step: order.step - 1, position, role: 'tool', kind: 'denial', content: DENIAL, call_id });
    events.push(log('tool_denied', 'The turn limit is reached', { call_id }), message('tool', DENIAL, { call_id }));
  }
  if (order.remind && !known.has(`${order.step - 1}/${REMINDER_POSITION}`)) {
    const content = reminderOf(run.prompt);
    messages.push({ ...blank, step: order.step - 1, position: REMINDER_POSITION, role: 'user', kind: 'reminder', content });
    events.push(log('goal_reminder', content));
  }
  if (run.status === 'waiting') events.push(status('running', order.turns));
  if (run.attempts > 0)
    events.push(log('attempt_reset', 'The step is tried again; drop its unfinished text', { step: order.step }));
  events.push(log('model_call', definition.model ?? 'default model', { step: order.step }));
  return { messages, events };
}
