import { setTimeout as wait } from 'node:timers/promises';
import { truncate } from '../../domain/outside.ts';
import { McpLost, McpRefused, McpUnreadable } from './failures.ts';
import { findOlderTask, type TaskPorts, waitForOlderTask, waitForTask } from './server-tasks.ts';

type Fields = Record<string, unknown>;

interface ServerRequest {
  method: string;
  params: Fields;
}

const MOST_ROUNDS = 20;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Sends a request until its result is complete. A server without a handshake may first ask for input, and is sent the request
 * again with the answers; or it answers with a task, which is waited for. A server with a handshake does that only if it is asked to.
 */
export async function completeRequest(ports: TaskPorts, { method, params }: ServerRequest): Promise<object> {
  let input: Fields = {};
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const result = (await ports.send({ method, params: { ...params, ...input } }).catch((error: unknown) => {
      // What came before was executed, even if this request was not: the call must not begin again.
      throw round > 0 && error instanceof McpLost ? new McpLost(error.message, { sent: true, cause: error }) : error;
    })) as Fields;
    const { resultType = 'complete', inputRequests, requestState } = result;
    const older_task = params.task ? findOlderTask(result) : null;
    if (older_task) return waitForOlderTask(ports, older_task);
    if (resultType === 'complete') return result;
    if (resultType === 'task') return waitForTask(ports, result);
    if (resultType !== 'input_required')
      throw new McpUnreadable(`its result has the type ${truncate(String(resultType))}, which Perdura does not know`);
    const inputResponses = await ports.answer(inputRequests);
    // The server only asks to be asked again.
    if (!inputResponses) await wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** round), undefined, { signal: ports.ended });
    ports.onprogress();
    input = { ...(inputResponses && { inputResponses }), ...(requestState !== undefined && { requestState }) };
  }
  throw new McpRefused(`it still asks for more input after ${MOST_ROUNDS} rounds`, { unexecuted: false });
}
