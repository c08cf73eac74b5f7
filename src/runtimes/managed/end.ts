import type Anthropic from '@anthropic-ai/sdk';
import { NotFoundError } from '@anthropic-ai/sdk';
import type { Vendor } from './agent.ts';

const LAST_WORDS_MS = 1_500;

/** The engine's reason for a halt by a person. On a worker shutdown the session is left to the next worker. */
export function isHaltReason(reason: unknown): boolean {
  const { type, message } = Object(reason) as { type?: unknown; message?: unknown };
  return type === 'Halted' || message === 'CANCELLED';
}

const interrupt = (client: Anthropic, session_id: string, signal: AbortSignal) =>
  client.beta.sessions.events.send(session_id, { events: [{ type: 'user.interrupt' }] }, { signal });

/** Interrupts a session and archives it; its events stay readable. A failure here is retried after the run has ended. */
export async function stop(client: Anthropic, session_id: string): Promise<void> {
  await interrupt(client, session_id, AbortSignal.timeout(LAST_WORDS_MS)).catch(() => {});
  await client.beta.sessions.archive(session_id, {}, { signal: AbortSignal.timeout(LAST_WORDS_MS) }).catch(() => {});
}

/** Interrupts a running session and archives it. A deleted or archived one counts as ended. */
export async function endSession({ client, signal }: Vendor, session_id: string): Promise<void> {
  try {
    const { archived_at, status } = await client.beta.sessions.retrieve(session_id, {}, { signal });
    if (archived_at) return;
    if (status === 'running' || status === 'rescheduling') await interrupt(client, session_id, signal);
    await client.beta.sessions.archive(session_id, {}, { signal });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}
