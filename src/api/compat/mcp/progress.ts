import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { ProgressToken, ServerNotification } from '@modelcontextprotocol/sdk/types.js';
import type { LogData } from '../../../contracts/events.ts';
import { type CompatRun, type CompatServices, streamRunEvents } from '../runs.ts';

function formatProgress(data: LogData): string | null {
  switch (data.event) {
    case 'model_call':
      return 'Asking the model';
    case 'tool_call':
      return `Calling ${data.name}`;
    case 'progress':
    case 'approval_requested':
    case 'question_asked':
      return data.detail;
    default:
      return null;
  }
}

/** The time between heartbeats. By default, clients give up after a minute without progress. */
const HEARTBEAT_MS = 10_000;

interface Reporting {
  progressToken: ProgressToken;
  response: ServerResponse;
  signal: AbortSignal;
  sendNotification(notification: ServerNotification): Promise<void>;
}

/** Reports the progress of a run until it ends; each notification resets the time-out of a client that allows it. */
export async function reportProgress(services: CompatServices, run: CompatRun, reporting: Reporting): Promise<void> {
  const { progressToken, response, signal, sendNotification } = reporting;
  let progress = 0;
  let sending = 0;
  const send = async (message: string) => {
    sending += 1;
    progress += 1;
    const params = { progressToken, progress, message };
    await sendNotification({ method: 'notifications/progress', params })
      .then(() => waitForDrain(response, signal))
      .catch(() => {})
      .finally(() => {
        sending -= 1;
      });
  };
  // A client that accepts nothing gets no further heartbeats.
  const heartbeat = setInterval(() => sending === 0 && void send('Still running'), HEARTBEAT_MS);
  try {
    for await (const { type, data } of streamRunEvents(services, run, signal)) {
      const text = type === 'log' ? formatProgress(data) : null;
      if (text) await send(text);
    }
  } finally {
    clearInterval(heartbeat);
  }
}

/** Resolves when the client has received nearly everything. The library itself never waits for a client. */
async function waitForDrain(response: ServerResponse, signal: AbortSignal): Promise<void> {
  // The sent data reaches the socket in a later turn of the event loop.
  await turn();
  if (response.writableNeedDrain) await once(response, 'drain', { signal });
}
