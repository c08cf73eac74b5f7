import type { TranscriptMessage } from './transcript.ts';

/** Removes from replies what only their model understands, unless `isOwn` says that this is the one that is asked. */
export const dropExtras = <M extends Pick<TranscriptMessage, 'role' | 'extra'>>(
  messages: readonly M[],
  isOwn: (message: M) => boolean,
): M[] =>
  messages.map((message) =>
    message.role === 'assistant' && message.extra !== null && !isOwn(message) ? { ...message, extra: null } : message,
  );
