import { format, inspect } from 'node:util';
import type { LogEntry } from '@temporalio/worker';
import { pino } from 'pino';
import { LOG_SHAPE } from '../api/http/log-shape.ts';
import { formatEntry } from '../temporal/worker/sdk-log.ts';
import { isJsonLog } from './config.ts';
import { standardError, standardOutput } from './log-destination.ts';
import { note, printable, say } from './terminal.ts';

/** The run that a line is about, and its trace. */
export interface LogIds {
  task_id?: string;
  trace_id?: string;
}

export type ProcessLog = (message: string, ids?: LogIds) => void;

/** Formats a line for people. */
export function textLine(message: string, { task_id, trace_id }: LogIds = {}): string {
  const parts = [...(task_id ? [`task ${task_id}`] : []), ...(trace_id ? [`trace ${trace_id}`] : [])];
  return printable(parts.length > 0 ? `${message} (${parts.join(', ')})` : message);
}

const lines = pino(LOG_SHAPE, standardError);

/** Returns the log of this process, on standard error. */
export function processLog(): ProcessLog {
  if (!isJsonLog()) return (message, ids) => standardError.write(`${textLine(message, ids)}\n`);
  return (message, ids = {}) => lines.info(ids, message);
}

/** Where the log is JSON, whatever packages and Node itself print is wrapped in it, too. Before anything else can print. */
export function wrapOutput(): void {
  if (!isJsonLog()) return;
  console.error = (...args) => lines.error(format(...args));
  console.warn = (...args) => lines.warn(format(...args));
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => lines.warn(`${name}: ${message}`));
  // Node would print its stack as text, and end in the same way.
  process.on('uncaughtException', (error) => {
    pino(LOG_SHAPE, process.stderr).fatal({ err: error }, 'The process ended with an error that nothing handled');
    process.exit(1);
  });
}

/** Logs why a command failed. The write is synchronous, since the process may end right after it. */
export function logFailure(sentence: string): void {
  if (isJsonLog()) pino(LOG_SHAPE, process.stderr).error(sentence);
  else note(sentence);
}

/** Reports what a command has done: text for people, on standard output, or lines of the log. */
export const report = (sentence: string): void => (isJsonLog() ? lines.info(sentence) : say(sentence));

/** Returns the log of requests, on standard output: JSON, or text on a terminal. */
export const requestLog = (): { write(line: string): void } =>
  isJsonLog() || !process.stdout.isTTY ? standardOutput : { write: (line) => standardOutput.write(formatRequestLine(line)) };

interface RequestLine {
  time: string;
  level: string;
  msg: string;
  reqId?: string;
  req?: { method: string; url: string };
  res?: { statusCode: number };
  err?: { stack: string };
  /** An entry of the audit. */
  audit?: object;
}

/** Formats a JSON line of the request log for people. */
export function formatRequestLine(line: string): string {
  const { time, level, msg, reqId, req, res, err, audit } = JSON.parse(line) as RequestLine;
  const request = req ? [req.method, req.url] : [];
  const facts = [res?.statusCode, msg, audit && JSON.stringify(audit), reqId && `(${reqId})`];
  const words = [time.slice(11, 19), level.padEnd(5), ...request, ...facts].filter(Boolean);
  return printable(`${words.join(' ')}\n${err ? `${err.stack}\n` : ''}`);
}

/** Prints what Temporal's SDK logs. */
export function sdkLog(): (entry: LogEntry) => void {
  const is_json = isJsonLog();
  return (entry) => {
    const { message, fields, level, error } = formatEntry(entry);
    if (is_json) return lines[LEVELS[level]]({ ...fields, ...(error ? { err: error } : {}) }, message);
    const { task_id, ...more } = fields;
    const details = error ? ` ${inspect({ ...more, error })}` : '';
    standardError.write(`${textLine(message, task_id ? { task_id } : {})}${printable(details)}\n`);
  };
}

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
