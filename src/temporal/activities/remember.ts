import { expectCall, explainBlock } from '../../domain/caps.ts';
import { transcriptSize } from '../../domain/compaction.ts';
import { estimateTokens } from '../../domain/context-window.ts';
import type { Definition } from '../../domain/definition.ts';
import { applyFallback } from '../../domain/fallback.ts';
import { EXTRACT_FACTS, parseFacts, type Remembered } from '../../domain/memory.ts';
import { ModelFailure } from '../../domain/model-failure.ts';
import { storable, type TranscriptMessage } from '../../domain/transcript.ts';
import { findUncountable } from '../../domain/unpriced.ts';
import { type Answered, followUsage, NO_USAGE, toPricing, toUsage, usageSoFar } from '../../domain/usage.ts';
import { createTaskEvents, DEFAULT_MODEL, type NewEvent } from '../../events/task-events.ts';
import type { Exchange } from '../../runtimes/runtime.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { CapStore } from '../../store/runs/caps.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import { type Halts, isHalt, runAttempt } from './attempt.ts';
import type { Caps } from './caps.ts';
import { toCalledModel } from './reserve-caps.ts';
import { addPresentPrices, loadOthers, type PricePorts } from './unpriced.ts';

export interface RememberPorts extends Pick<PricePorts, 'findPresentProvider'> {
  runs: Pick<RunStore, 'open' | 'note'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  /** Returns the run's model, for one answer outside of the run's conversation. */
  selectAnswerer(run: OpenRun, definition: Definition): Promise<SelectedRuntime>;
  /** Stores a fact for later runs of the agent. Returns the reason if the fact was refused, else null. */
  remember(run: OpenRun, definition: Definition, fact: Remembered): Promise<string | null>;
  caps: Caps;
  reserveAside: CapStore['reserveAside'];
  now(): string;
}

/** The number of characters searched for facts: the end of the conversation, where the results are. */
const READ = 20_000;

/** Asks the run's model which facts of the conversation are worth keeping, and stores them. */
export const rememberActivity =
  (ports: RememberPorts) =>
  (task_id: string): Promise<number> =>
    runAttempt(ports.halts, task_id, async (signal) => {
      const run = await ports.runs.open(task_id, 0);
      if (!run) return 0;
      const pinned = await ports.definition(run.definition_hash);
      // What is asked after a run counts for its last step, so the same model is asked.
      const definition = applyFallback(pinned, run.fallback?.position ?? 0);
      if (definition.settings.bypass_memory) return 0;
      const selected = await addPresentPrices({ ports, run, definition }, await ports.selectAnswerer(run, definition));
      // Nobody is asked for a price or another budget after the run has answered.
      const others = await loadOthers({ ports, run, definition });
      if (findUncountable(run, definition, { prices: selected.prices, others })) return 0;
      const input = {
        task_id,
        model: definition.model,
        instructions: EXTRACT_FACTS,
        transcript: [conversation(run.messages)],
        tools: [],
        reasoning_effort: null,
        wants_json: true,
        cursor: null,
      };
      const tokens = estimateTokens(input.instructions) + transcriptSize(input.transcript);
      const asking = { run, definition, selected, input, tokens };
      const reservation = await reserveMemory(ports, asking);
      if (reservation === 'blocked') return 0;
      try {
        return await storeFacts(ports, { ...asking, reservation, signal });
      } finally {
        await ports.caps.release(reservation);
      }
    });

interface Asking {
  run: OpenRun;
  definition: Definition;
  selected: SelectedRuntime;
  input: Exchange;
  /** The approximate number of tokens of the input. */
  tokens: number;
}

/** Reserves the question in the budgets above the run. A run does not wait for memories: if it is blocked, nothing is remembered. */
async function reserveMemory(
  ports: RememberPorts,
  { run, definition, selected: { prices }, tokens }: Asking,
): Promise<string | null | 'blocked'> {
  if (!run.has_caps) return null;
  const model = toCalledModel(run, definition, prices);
  const call = { ...expectCall(tokens, null, model), task_id: run.task_id };
  const { reservation, answer } = await ports.caps.hold((reservation) => ports.reserveAside({ ...call, reservation }));
  if (!answer?.blocked) return reservation;
  const { log } = createTaskEvents(run.task_id, ports.now);
  const detail = `0 facts; ${explainBlock(answer.blocked, model, DEFAULT_MODEL)}`;
  await ports.runs.note(run, { usage: NO_USAGE, events: [log('memory_stored', detail, { keys: [] })] });
  return 'blocked';
}

async function storeFacts(
  ports: RememberPorts,
  { run, definition, selected, input, tokens, reservation, signal }: Asking & { reservation: string | null; signal: AbortSignal },
): Promise<number> {
  const { runtime, prices } = selected;
  const recordUsage = (answer: Answered, events: NewEvent[] = []) =>
    ports.runs.note(run, { usage: toUsage(answer, toPricing(definition, prices)), reservation, events });
  const { so_far, addPiece, report } = followUsage(tokens);
  const { reply } = await runtime
    .exchange({ ...input, report, reportHidden: addPiece }, addPiece, signal)
    .catch(async (error: unknown) => {
      if (isHalt(signal.reason)) await recordUsage(usageSoFar(so_far, estimateTokens));
      else if (error instanceof ModelFailure && error.answer) await recordUsage(error.answer);
      throw error;
    });
  const facts = parseFacts(storable(reply.text));
  const memories: Remembered[] = [];
  const refusals = new Set<string>();
  for (const fact of facts) {
    const refusal = await ports.remember(run, definition, fact);
    if (refusal) refusals.add(refusal);
    else memories.push(fact);
  }
  const { log } = createTaskEvents(run.task_id, ports.now);
  const stored_event = log('memory_stored', [`${memories.length} facts`, ...refusals].join('; '), {
    keys: memories.map(({ key }) => key),
  });
  await recordUsage(reply, facts.length > 0 ? [stored_event] : []);
  return memories.length;
}

function conversation(messages: readonly TranscriptMessage[]): TranscriptMessage {
  const conversation_messages = messages.filter(({ kind }) => ['prompt', 'steer', 'reply', 'result'].includes(kind));
  const content = conversation_messages
    .map(({ role, content }) => `${role}: ${content}`)
    .join('\n\n')
    .slice(-READ)
    .toWellFormed();
  return { step: 0, position: 0, role: 'user', kind: 'prompt', content, tool_calls: null, call_id: null, extra: null };
}
