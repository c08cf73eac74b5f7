import type { PerduraClient, TaskEvent, ToolCallRecord } from '../../client/index.ts';
import { showUnseen } from '../../domain/unseen.ts';
import type { Ask } from './ask.ts';
import { askQuestion } from './questions.ts';
import type { Screen } from './screen.ts';

interface Asking {
  client: PerduraClient;
  screen: Screen;
  /** Called if another prompt is to be shown. */
  onChange(): void;
}

export type Asks = ReturnType<typeof createAsks>;

/** Keeps what the turn in progress asks, and shows one of it at a time. */
export function createAsks({ client, screen, onChange }: Asking) {
  let waiting: Ask[] = [];
  /** The one that the person sees. A line that was begun before it was shown is not an answer. */
  let shown: Ask | null = null;
  const settled = new Set<string>();
  const showNext = () => {
    const [next] = waiting;
    if (shown || !next) return;
    screen.whenFree(({ note }) => {
      if (shown || waiting[0] !== next) return;
      for (const line of next.lines) note(line);
      shown = next;
      onChange();
    });
  };
  const remove = (key: string) => {
    settled.add(key);
    waiting = waiting.filter((ask) => ask.key !== key);
    if (shown?.key === key) {
      shown = null;
      onChange();
    }
    showNext();
  };
  /** A stream that begins with earlier events repeats what was decided long ago. */
  const add = async (task_id: string, ask: Ask) => {
    if (!(await isOpen(client, task_id, ask.key)) || settled.has(ask.key)) return;
    waiting.push(ask);
    showNext();
  };
  return {
    shown: () => shown,
    add,
    remove,
    clear() {
      for (const { key } of waiting) settled.add(key);
      waiting = [];
      shown = null;
      onChange();
    },
    async answer(ask: Ask, line: string): Promise<void> {
      if (shown !== ask) screen.note('That was decided meanwhile; your answer was not sent');
      else if (await ask.answer(line)) remove(ask.key);
      else onChange();
    },
  };
}

const keyOf = (task_id: string, call_id: string, question_id = '') => `${task_id} ${call_id} ${question_id}`;

async function isOpen(client: PerduraClient, task_id: string, key: string): Promise<boolean> {
  const steps = await client.request('GET /api/tasks/{id}/steps', { path: { id: task_id } });
  const keys = steps.flatMap(({ tool_calls }) => tool_calls).map((call) => openKey(task_id, call));
  return keys.includes(key);
}

function openKey(task_id: string, { status, call_id, question }: ToolCallRecord): string | null {
  if (status === 'waiting_approval') return keyOf(task_id, call_id);
  return question ? keyOf(task_id, call_id, question.id) : null;
}

interface AskEvent {
  client: PerduraClient;
  task_id: string;
  event: TaskEvent;
}

/** Keeps the asks as a turn reports them. */
export async function readAskEvent(asks: Asks, { client, task_id, event: { type, data } }: AskEvent): Promise<void> {
  if (type !== 'log') return;
  switch (data.event) {
    case 'approval_requested':
      return asks.add(task_id, askApproval(client, task_id, data));
    case 'approval_decided':
      return asks.remove(keyOf(task_id, data.call_id));
    case 'question_asked': {
      const { call_id, question } = data;
      return asks.add(task_id, askQuestion({ client, task_id, call_id, question, key: keyOf(task_id, call_id, question.id) }));
    }
    case 'question_answered':
      return asks.remove(keyOf(task_id, data.call_id, data.question_id));
    default:
      return;
  }
}

const DECISION = /^(yes|y|no|n)([\s,:].*)?$/is;

interface RequestedCall {
  call_id: string;
  name: string;
  arguments: string;
}

function askApproval(client: PerduraClient, task_id: string, { call_id, name, arguments: args }: RequestedCall): Ask {
  return {
    key: keyOf(task_id, call_id),
    // Line breaks between the fields of JSON mean nothing, and could look like something that Perdura asks.
    lines: [`? ${name} ${showUnseen(args.replaceAll(/[\r\n]+/g, ' '))}`],
    prompt: () => 'Allow it? y or n, a reason may follow: ',
    async answer(line) {
      const [, word, rest = ''] = DECISION.exec(line.trim()) ?? [];
      if (word === undefined) return false;
      const reason = rest.replace(/^[\s,:]+/, '');
      const decision = word.toLowerCase().startsWith('y') ? 'approve' : 'deny';
      await client.tasks[decision](task_id, call_id, reason ? { message: reason } : {});
      return true;
    },
  };
}
