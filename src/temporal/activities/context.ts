import type { Definition } from '../../domain/definition.ts';
import { type Passage, pickPassages, quotePassages } from '../../domain/knowledge.ts';
import { formatMemories, pickMemories, type Remembered } from '../../domain/memory.ts';
import { KNOWLEDGE_POSITION, MEMORY_POSITION, storable, type TranscriptMessage } from '../../domain/transcript.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { OpenRun } from '../../store/runs/runs.ts';

export interface ContextPorts {
  /**
   * Returns memories for runs of the agent in this workflow: those that match the prompt, and the newest. Expired ones are
   * excluded.
   */
  recall(run: OpenRun, definition: Definition): Promise<Remembered[]>;
  /** Returns passages of the knowledge sources about the prompt, best first. */
  lookUp(run: OpenRun, definition: Definition): Promise<{ items: Passage[]; warnings: string[] }>;
  now(): string;
}

export interface Context {
  messages: TranscriptMessage[];
  events: NewEvent[];
}

/**
 * Returns the context of a run besides its prompt. It is searched once and written into the transcript, so a retried step sees
 * the same.
 */
export async function loadContext(ports: ContextPorts, run: OpenRun, definition: Definition): Promise<Context> {
  const parts = await Promise.all([loadMemories(ports, run, definition), loadKnowledge(ports, run, definition)]);
  return { messages: parts.flatMap(({ messages }) => messages), events: parts.flatMap(({ events }) => events) };
}

const NOTHING: Context = { messages: [], events: [] };

async function loadMemories(ports: ContextPorts, run: OpenRun, definition: Definition): Promise<Context> {
  if (definition.settings.bypass_memory) return NOTHING;
  const memories = pickMemories(await ports.recall(run, definition));
  if (memories.length === 0) return NOTHING;
  const { log } = createTaskEvents(run.task_id, ports.now);
  const keys = memories.map(({ key }) => key);
  return {
    messages: [message(MEMORY_POSITION, formatMemories(memories))],
    events: [log('memory_loaded', memories.length === 1 ? '1 memory' : `${memories.length} memories`, { keys })],
  };
}

async function loadKnowledge(ports: ContextPorts, run: OpenRun, definition: Definition): Promise<Context> {
  if (!definition.knowledge_source_ids?.length) return NOTHING;
  const { log } = createTaskEvents(run.task_id, ports.now);
  const { items, warnings } = await ports.lookUp(run, definition);
  const passages = pickPassages(items);
  const names = [...new Set(passages.map(({ name }) => name))];
  const loaded = log(
    'knowledge_loaded',
    passages.length > 0
      ? `${passages.length} ${passages.length === 1 ? 'passage' : 'passages'} of ${names.join(', ')}`
      : 'nothing found',
    {
      items: passages.map(({ item_id, name, position, score }) => ({ item_id, name, position, score })),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
  );
  return { messages: passages.length > 0 ? [message(KNOWLEDGE_POSITION, quotePassages(passages))] : [], events: [loaded] };
}

const message = (position: number, content: string): TranscriptMessage => ({
  step: 0,
  position,
  role: 'system',
  kind: 'context',
  content: storable(content),
  tool_calls: null,
  call_id: null,
  extra: null,
});
