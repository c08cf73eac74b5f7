import { finished } from 'node:stream/promises';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { tooLarge } from '../../egress/counted-fetch.ts';
import type { ConfinedCommand, ConfinedProcess } from '../../toolrunner/index.ts';

export type StartConfined = (command: ConfinedCommand, signal?: AbortSignal) => Promise<ConfinedProcess>;

const STDERR_CHARACTERS = 2_000;

/** The end of what was said, from the beginning of a word: half of a secret could not be told from other text. */
const lastWords = (said: string) =>
  said.length <= STDERR_CHARACTERS ? said : said.slice(-STDERR_CHARACTERS).replace(/^\S*\s?/, '');

/** MCP over the pipes of a confined process. What it prints on stderr is drained, and its end kept for error messages. */
export class ConfinedStdio implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #start: StartConfined;
  readonly #command: ConfinedCommand;
  readonly #buffer: ReadBuffer;
  readonly #message_bytes: number;
  #process: ConfinedProcess | undefined;
  #stderr = '';

  /** `message_bytes`: the longest message that the server may send. */
  constructor(start: StartConfined, command: ConfinedCommand, message_bytes: number) {
    this.#start = start;
    this.#command = command;
    this.#message_bytes = message_bytes;
    this.#buffer = new ReadBuffer({ maxBufferSize: message_bytes });
  }

  /** The last that the server said on stderr. */
  get stderr(): string {
    return this.#stderr.trim();
  }

  async start(): Promise<void> {
    const child = await this.#start(this.#command);
    this.#process = child;
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = lastWords(this.#stderr + chunk.toString());
    });
    // Its last answer may still be in the pipe when it is gone.
    const read = finished(child.stdout).catch(() => {});
    void Promise.all([child.exit, read]).then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#process;
    if (!child || child.stdin.destroyed) throw new Error('The process of the MCP server has ended');
    if (child.stdin.write(serializeMessage(message))) return;
    await Promise.race([new Promise((resolve) => child.stdin.once('drain', resolve)), child.exit]);
  }

  async close(): Promise<void> {
    this.#buffer.clear();
    await this.#process?.kill();
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch {
      this.onerror?.(tooLarge('a message', this.#message_bytes));
      void this.close();
      return;
    }
    for (let message = this.#next(); message; message = this.#next()) this.onmessage?.(message);
  }

  /** The next message; lines that are none, such as what a server logs on stdout, are passed over. */
  #next(): JSONRPCMessage | null {
    while (true) {
      try {
        return this.#buffer.readMessage();
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
  }
}
