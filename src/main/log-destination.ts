import { write } from 'node:fs';
import { isJsonLog } from './config.ts';

interface LogDestination {
  /** Never blocks and never throws: what cannot be written is dropped, and counted in the first line that is written afterwards. */
  write(lines: string): void;
}

/** What may wait for a destination that takes nothing; more is dropped. */
const WAITING_CHARACTERS = 1 << 20;
/** How soon a pipe that is full is tried again. */
const PAUSE_MS = 100;

const countLines = (text: string) => text.split('\n').length - 1;

/** The log at an open file: one write at a time, off the main thread. */
export function logDestination(fd: number, asLine = (sentence: string) => sentence): LogDestination {
  let waiting = '';
  let dropped = 0;
  let reason = '';
  let torn = false;
  let busy = false;

  const drop = (lines: string, why: string) => {
    dropped += countLines(lines);
    reason = why;
  };
  const notice = () => `${torn ? '\n' : ''}${asLine(`${dropped} lines of the log were dropped: ${reason}`)}\n`;

  function send(): void {
    if (busy || waiting === '') return;
    busy = true;
    const lines = waiting;
    const reported_count = dropped;
    const bytes = Buffer.from(reported_count > 0 ? notice() + lines : lines);
    waiting = '';
    sendRest(bytes, 0, (error, written_bytes) => {
      busy = false;
      if (error) {
        torn = torn || written_bytes > 0;
        drop(lines, error.code!);
      } else {
        dropped -= reported_count;
        torn = false;
      }
      send();
    });
  }

  function sendRest(
    bytes: Buffer,
    from: number,
    done: (error: NodeJS.ErrnoException | null, written_bytes: number) => void,
  ): void {
    write(fd, bytes, from, bytes.length - from, null, (error, count) => {
      if (error?.code === 'EAGAIN') setTimeout(sendRest, PAUSE_MS, bytes, from, done);
      else if (error || from + count === bytes.length) done(error, from + count);
      else sendRest(bytes, from + count, done);
    });
  }

  return {
    write(lines) {
      if (waiting.length + lines.length > WAITING_CHARACTERS) return drop(lines, 'nothing was taken in time');
      waiting += lines;
      send();
    },
  };
}

function ownLine(sentence: string): string {
  if (!isJsonLog()) return sentence;
  return JSON.stringify({ level: 'warn', time: new Date().toISOString(), pid: process.pid, msg: sentence });
}

/** The log of this process and the log of its requests. */
export const standardError = logDestination(2, ownLine);
export const standardOutput = logDestination(1, ownLine);
