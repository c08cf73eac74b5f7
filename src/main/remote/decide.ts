import type { ToolCallRecord } from '../../client/index.ts';
import { showUnseen } from '../../domain/unseen.ts';
import type { Config } from '../config.ts';
import { say, sayJson } from '../terminal.ts';
import { parseCommand, usageError } from './options.ts';
import { remoteClient } from './place.ts';

/** `perdura approve` and `perdura deny`: decide on the waiting call, or on the named one of several. */
export const decideCommand =
  (decision: 'approve' | 'deny') =>
  async (config: Config, args: string[]): Promise<void> => {
    const given = parseCommand(decision, args);
    const [task_id = '', call_argument] = given.words;
    const text = given.text('message');
    const client = await remoteClient(config);
    const call_id = call_argument ?? onlyOne(decision, task_id, await client.tasks.waitingCalls(task_id));
    const message = text === undefined ? {} : { message: text };
    const task = await client.tasks[decision](task_id, call_id, message);
    if (given.has('json')) sayJson(task);
    else say(`${decision === 'approve' ? 'Approved' : 'Denied'}: ${call_id}; the run is ${task.status}`);
  };

function onlyOne(decision: string, task_id: string, calls: ToolCallRecord[]): string {
  if (calls.length === 1) return calls[0]?.call_id as string;
  if (calls.length === 0) throw new Error(`No tool call of the run ${task_id} waits for approval`);
  const list = calls.map(({ call_id, name, arguments: args }) => `  ${call_id}  ${name} ${showUnseen(args)}`);
  throw usageError(decision, `Several calls wait; name one of them:\n${list.join('\n')}`);
}
