import type {
  LogData,
  PerduraClient,
  PromptAccepted,
  RunEvent,
  TaskDetail,
  TaskEvent,
  TranscriptMessage,
} from '../../client/index.ts';
import { note, print, printable, say, sayJson } from '../terminal.ts';
import type { Given } from './options.ts';
import { createReplyWriter } from './reply-writer.ts';
import { formatTime } from './table.ts';

const LONGEST = 200;
export const WRITTEN_AGAIN = '(the answer breaks off here and is written again)';

/** Formats an event as one line; null for pieces of text, because a later event has the whole text. */
export function formatEvent(event: RunEvent): string | null {
  const text = formatEventText(event);
  return text === null ? null : formatLine(event.timestamp, text);
}

const formatLine = (timestamp: string, text: string) => `${formatTime(timestamp).slice(11)}  ${printable(text)}`;

function formatEventText({ type, data }: RunEvent): string | null {
  switch (type) {
    case 'log':
      return formatLog(data);
    case 'message':
      return formatMessage(data);
    case 'status':
      return `status: ${data.status}`;
    case 'usage':
      return `usage: ${data.total_in} in, ${data.total_out} out`;
    // A service of a later version may send other types.
    default:
      return null;
  }
}

const formatLog = ({ event, detail }: Pick<LogData, 'event' | 'detail'>) => (detail ? `${event}: ${detail}` : event);

const formatMessage = ({
  role,
  content,
  tool_calls,
}: Pick<TranscriptMessage, 'role' | 'content'> & { tool_calls?: object[] | null }) =>
  `${role}: ${excerpt(content || JSON.stringify(tool_calls ?? ''))}`;

export const excerpt = (text: string) => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
};

interface Following {
  client: PerduraClient;
  task_id: string;
  /** Prints one event. */
  show(event: TaskEvent): void;
}

/** Returns what a person has to do before a run continues, with the ways out; null if it does not wait for a person. */
export function findAdvice(log: LogData, task_id: string): string | null {
  switch (log.event) {
    case 'approval_requested':
      return `It waits for you: perdura approve ${task_id} (or deny)`;
    case 'question_asked':
      return 'It waits for your answer: give it on the page of the run in the dashboard, or with POST /api/tasks/{id}/answers/{call_id}';
    case 'unpriced_model': {
      const [model, provider] = [log.model ?? 'its default model', log.provider ?? 'the default runtime'];
      return log.on_exhausted === 'wait'
        ? `It waits for a price of ${model} at ${provider}: set it there and send the budget again with POST /api/tasks/${task_id}/budget, or send one with max_tokens instead of max_cost_usd`
        : null;
    }
    case 'budget_exhausted':
      return log.on_exhausted === 'wait' ? `It waits for a higher budget: POST /api/tasks/${task_id}/budget` : null;
    default:
      return null;
  }
}

/** Shows the events of a run until it ends. Ctrl-C ends only the following, not the run; null is returned then. */
export async function followRun({ client, task_id, show }: Following): Promise<TaskDetail | null> {
  const interruption = new AbortController();
  const leave = () => interruption.abort();
  process.once('SIGINT', leave);
  try {
    for await (const event of client.tasks.events(task_id, { signal: interruption.signal })) {
      show(event);
      const advice = event.type === 'log' && findAdvice(event.data, task_id);
      if (advice) note(advice);
    }
    return await client.tasks.get(task_id);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    note(`\nThe run continues. To follow it again: perdura logs -f ${task_id}`);
    process.exitCode = 130;
    return null;
  } finally {
    process.off('SIGINT', leave);
  }
}

/**
 * Creates a printer of a run's text to stdout: as it arrives on a terminal, otherwise message by message. Everything else is
 * meant for people.
 */
export function createTextPrinter(): (event: TaskEvent) => void {
  const writeReply = createReplyWriter({
    live: Boolean(process.stdout.isTTY),
    write: print,
    endLine: () => say(''),
    restart: () => note(`\n${WRITTEN_AGAIN}`),
  });
  return (event) => {
    const line = writeReply(event) ? null : formatEvent(event);
    if (line !== null) note(line);
  };
}

/** Prints the id of a run that was just started, or follows it if `--follow` was given. */
export async function showNewRun(client: PerduraClient, new_run: PromptAccepted, given: Given): Promise<void> {
  const { task_id, warnings = [] } = new_run;
  for (const { message } of warnings) note(`warning: ${message}`);
  if (!given.has('follow')) return given.has('json') ? sayJson(new_run) : say(task_id);
  note(`task ${task_id}`);
  const show = given.has('json') ? (event: object) => say(JSON.stringify(event)) : createTextPrinter();
  const task = await followRun({ client, task_id, show });
  if (!task) return;
  if (task.error) note(task.error);
  if (task.status !== 'completed') process.exitCode = 1;
}

/** Formats the progress of a run, from its record. */
export function formatRecord({ logs = [], messages = [] }: TaskDetail): string[] {
  const texts = [
    ...logs.map((log) => ({ at: log.timestamp, text: formatLog(log) })),
    ...messages.map((message) => ({ at: message.created_at, text: formatMessage(message) })),
  ];
  return texts.sort((one, other) => (one.at < other.at ? -1 : 1)).map(({ at, text }) => formatLine(at, text));
}
