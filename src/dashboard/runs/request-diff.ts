import type { StepRequest } from '../../contracts/run-inspection.ts';

type Message = StepRequest['messages'][number];

export interface RequestDiff {
  /** The messages of the request. `is_new` is true if the model had not seen the message at the previous step. */
  messages: { message: Message; is_new: boolean }[];
  /** Messages of the previous step that the model does not see any more, such as those that a summary replaces. */
  removed: Message[];
  /** The names of added and removed tools. */
  added_tools: string[];
  removed_tools: string[];
  /** The names of other parts that differ. */
  changed: string[];
}

const toMessageKey = ({ step, position }: Message) => `${step}/${position}`;
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Returns the differences from the previous step's request; without one, everything is new. */
export function requestDiff(before: StepRequest | null, request: StepRequest): RequestDiff {
  const earlier_messages = new Map(before?.messages.map((message) => [toMessageKey(message), message]));
  const current_keys = new Set(request.messages.map(toMessageKey));
  const names = (of: StepRequest | null) => (of?.tools ?? []).map(({ name }) => name);
  const [was, is] = [names(before), names(request)];
  const parts = { 'system prompt': 'instructions', model: 'model', parameters: 'parameters' } as const;
  return {
    messages: request.messages.map((message) => ({
      message,
      is_new: !same(earlier_messages.get(toMessageKey(message)), message),
    })),
    removed: (before?.messages ?? []).filter((message) => !current_keys.has(toMessageKey(message))),
    added_tools: is.filter((name) => !was.includes(name)),
    removed_tools: was.filter((name) => !is.includes(name)),
    changed: before ? Object.entries(parts).flatMap(([name, part]) => (same(before[part], request[part]) ? [] : [name])) : [],
  };
}
