import { finished } from 'node:stream/promises';
import { deserializeMessage, type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { tooLarge } from '../../egress/counted-fetch.ts';
import type { ConfinedCommand, ConfinedProcess } from '../../toolrunner/index.ts';
import { McpLost } from './failures.ts';

export type StartConfined = (command: ConfinedCommand, signal?: AbortSignal) => Promise<ConfinedProcess>;

const STDERR_CHARACTERS = 2_000;
const LINE_FEED = 10;

/** Returns the end of the output, from the start of a word: half of a secret could not be recognised and redacted. */
export const truncateStart = (output: string) =>
  output.length <= STDERR_CHARACTERS ? output : output.slice(-STDERR_CHARACTERS).replace(/^\S*\s?/, '');

/** The transport of MCP over the pipes of a confined process. Its stderr is drained; the end of it is kept for error messages. */
export class ConfinedStdio implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #start: StartConfined;
  readonly #command: ConfinedCommand;
  readonly #message_bytes: number;
  #process: ConfinedProcess | undefined;
  /** The pieces of a line that has not ended, and their bytes. */
  #line: Buffer[] = [];
  #line_bytes = 0;
  #stderr = '';
  #has_ended = false;
  #is_closed = false;

  /** `message_bytes` is the longest message that the server may send. */
  constructor(start: StartConfined, command: ConfinedCommand, message_bytes: number) {
    this.#start = start;
    this.#command = command;
    this.#message_bytes = message_bytes;
  }

  /** The end of the server's stderr. */
  get stderr(): string {
    return this.#stderr.trim();
  }

  /** True if the process has ended by itself, and everything that it sent was read. */
  get has_ended(): boolean {
    return this.#has_ended;
  }

  /** Starts the process, if it is not started. */
  async start(): Promise<void> {
    if (this.#process) return;
    const child = await this.#start(this.#command);
    this.#process = child;
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', (error) => this.onerror?.(error));
    // Nobody waits for it any more; nobody else would end it.
    if (this.#is_closed) {
      await child.kill();
      throw new McpLost('it was given up while it started', { sent: false });
    }
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = truncateStart(this.#stderr + chunk.toString());
    });
    // The process's last answer may still be in the pipe after it has ended.
    const read = finished(child.stdout).catch(() => {});
    void Promise.all([child.exit, read]).then(() => {
      this.#has_ended = true;
      this.onclose?.();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#process;
    if (!child || child.stdin.destroyed) throw new McpLost('its process has ended', { sent: false });
    if (child.stdin.write(serializeMessage(message))) return;
    await Promise.race([new Promise((resolve) => child.stdin.once('drain', resolve)), child.exit]);
  }

  async close(): Promise<void> {
    this.#is_closed = true;
    this.#line = [];
    await this.#process?.kill();
  }

  /** Assembles each line once, when it is complete: a long one arrives in hundreds of pieces. */
  #read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      if (!this.#add(chunk.subarray(from, at))) return;
      this.#deliver(Buffer.concat(this.#line).toString());
      this.#line = [];
      this.#line_bytes = 0;
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  /** Returns false if the line is longer than a message may be; this ends the connection. */
  #add(piece: Buffer): boolean {
    this.#line_bytes += piece.length;
    if (this.#line_bytes <= this.#message_bytes) {
      this.#line.push(piece);
      return true;
    }
    this.#line = [];
    this.onerror?.(tooLarge('a message', this.#message_bytes));
    void this.close();
    return false;
  }

  /** Delivers a message. Lines that are not messages, such as logs on stdout, are skipped. */
  #deliver(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line.trimEnd()));
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}
