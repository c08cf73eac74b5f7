import type { AttachedFile } from '../../domain/attachments.ts';
import { type Definition, isVendor } from '../../domain/definition.ts';
import { type FieldError, unprocessable } from '../../domain/errors.ts';
import { type ForkEffects, rebuildLoopState } from '../../domain/fork.ts';
import { changeDefinition, type DefinitionChanges, listMissingParts, type MessageEdit } from '../../domain/fork-changes.ts';
import type { LoopState } from '../../domain/run-loop.ts';
import { storable } from '../../domain/transcript.ts';
import type { Store } from '../../store/index.ts';
import type { CopiedMessage, Seed } from '../../store/runs/forks.ts';
import type { PromptOrder } from './new-task.ts';

/** The run to fork. */
export interface ForkSource {
  id: string;
  workflow_id: string;
  prompt: string;
  attachments: readonly AttachedFile[];
  definition_hash: string;
  /** The conversation of which it is a turn; null: of none. */
  thread_id: string | null;
  /** Its place in a conversation; null: it has none. */
  thread_turn: number | null;
  previous_task_id: string | null;
}

export interface ForkAt {
  source: ForkSource;
  from_step: number;
  effects: ForkEffects;
  /** True if the fork is a turn of the source's thread, next to the source. */
  in_thread?: boolean | undefined;
  prompt?: string | undefined;
  /** A message that is added after everything copied, also at step 1; absent: none. */
  message?: string | undefined;
  /** The files of the prompt; absent: those of the source. */
  attachments?: readonly AttachedFile[] | undefined;
  changes?: DefinitionChanges | undefined;
}

/** A text of the caller for the model, and the field that contained it. */
export interface TextToAdmit {
  path: string;
  text: string;
}

interface PlannedFork {
  /** The source run's definition, with the changes of the fork. */
  definition: Definition;
  /** The prompt of the fork. */
  prompt: string;
  /** The texts that guardrails have to accept. */
  texts_to_admit: TextToAdmit[];
  seed: Seed;
  /** The state in which the fork's loop begins. */
  state: LoopState;
}

/** Returns where a fork stands in a conversation: where its source does. Throws if it is to be in a thread and the source is in none. */
export function placeFork({
  source,
  in_thread = false,
}: Pick<ForkAt, 'source' | 'in_thread'>): Pick<PromptOrder, 'thread_id' | 'follows'> {
  const { thread_id, thread_turn, previous_task_id } = source;
  if (in_thread && thread_id === null) throw unprocessable([{ path: 'in_thread', message: NO_TURN }]);
  if (thread_turn === null) return {};
  const follows = { task_id: previous_task_id, turn: thread_turn - 1 };
  return in_thread ? { thread_id: thread_id!, follows } : { follows };
}

/** Returns the initial state of a fork. Throws if the source cannot be forked at the step, or not with the changes. */
export async function planFork(store: Pick<Store, 'definitions' | 'forks'>, order: ForkAt): Promise<PlannedFork> {
  const { source, from_step, effects, prompt, message, changes = {} } = order;
  const original = await store.definitions.get(source.definition_hash);
  if (original.provider && isVendor(original.provider))
    throw unprocessable([{ path: '', message: KEPT_BY_VENDOR }], 'fork_unsupported');
  const state = await loadState(store, order, original);
  const definition = await forkDefinition(store, order, original);
  const is_copy = !(from_step === 1 && prompt !== undefined);
  const { edits, texts_to_admit } = await checkEdits(store, order, is_copy);
  const edited_prompt = edits.find(({ step, position }) => step === 0 && position === 0)?.content;
  const own_prompt = is_copy ? (edited_prompt ?? source.prompt) : prompt!;
  return {
    definition,
    prompt: own_prompt,
    // An edited prompt is judged as an edit.
    texts_to_admit: [
      ...(message === undefined ? [] : [{ path: 'message', text: message }]),
      ...(prompt === undefined && edited_prompt !== undefined ? [] : [{ path: 'prompt', text: prompt ?? own_prompt }]),
      ...texts_to_admit,
    ],
    state,
    seed: {
      task_id: source.id,
      step: from_step,
      effects,
      definition_hash: definition === original ? source.definition_hash : null,
      changes: Object.entries(changes)
        .flatMap(([name, value]) => (value === undefined ? [] : [name]))
        .sort(),
      turns: state.turns,
      is_copy,
      message: message ?? (is_copy ? (prompt ?? null) : null),
      edits,
      keeps_extra: definition.provider?.id === original.provider?.id,
    },
  };
}

async function loadState({ forks }: Pick<Store, 'forks'>, { source, from_step }: ForkAt, { settings }: Definition) {
  const steps = await forks.steps(source.id);
  if (!steps.some(({ step }) => step === from_step))
    throw unprocessable([{ path: 'from_step', message: noStep(steps.at(-1)?.step) }], 'no_such_step');
  const by_number = new Map(steps.map((step) => [step.step, step]));
  return rebuildLoopState(from_step, settings, (step) => by_number.get(step)!);
}

async function forkDefinition({ forks }: Pick<Store, 'forks'>, { source, changes }: ForkAt, original: Definition) {
  if (!changes) return original;
  const parts = await forks.parts({ workflow_id: source.workflow_id, ...listMissingParts(original, changes) });
  return changeDefinition(original, changes, parts);
}

/**
 * Returns the edits to make in the copies, and the edited messages of a person that guardrails check. Throws for edits of other
 * messages.
 */
async function checkEdits(
  store: Pick<Store, 'forks'>,
  { source, from_step, changes: { messages: edits = [] } = {} }: ForkAt,
  is_copy: boolean,
): Promise<{ edits: MessageEdit[]; texts_to_admit: TextToAdmit[] }> {
  if (edits.length === 0) return { edits, texts_to_admit: [] };
  const copies = is_copy ? await store.forks.messages(source.id, from_step) : [];
  const findCopy = ({ step, position }: MessageEdit): CopiedMessage | undefined =>
    copies.find((copy) => copy.step === step && copy.position === position);
  const errors = edits.flatMap((edit, index): FieldError[] =>
    findCopy(edit) ? [] : [{ path: `changes.messages.${index}`, message: notCopied(edit, from_step) }],
  );
  if (errors.length > 0) throw unprocessable(errors);
  const texts = edits.flatMap((edit, index) =>
    findCopy(edit)?.role === 'user' ? [{ path: `changes.messages.${index}.content`, text: edit.content }] : [],
  );
  return { edits: edits.map((edit) => ({ ...edit, content: storable(edit.content) })), texts_to_admit: texts };
}

const notCopied = ({ step, position }: MessageEdit, from_step: number) =>
  `The fork copies no message of step ${step} at position ${position}; GET /api/tasks/{id}/steps/${from_step}/request lists the messages`;

const NO_TURN = 'This run is not a turn of a thread; leave out `in_thread`';

const KEPT_BY_VENDOR =
  "The conversation of this run is kept in a session at the model's vendor, which cannot resume at an earlier step; send the prompt again instead";

const noStep = (last: number | undefined) =>
  last === undefined
    ? 'The run has not begun its first step, so there is nothing to fork yet'
    : `The run has no such step; choose one from 1 to ${last}`;
