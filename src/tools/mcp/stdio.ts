import { finished } from 'node:stream/promises';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { ConfinedCommand, ConfinedProcess } from '../../toolrunner/index.ts';

export type StartConfined = (command: ConfinedCommand, signal?: AbortSignal) => Promise<ConfinedProcess>;

/** The longest message a server may send. */
const MESSAGE_BYTES = 16 * 1024 * 1024;
const STDERR_CHARACTERS = 2_000;

/** The end of the output, from the start of a word: half of a secret could not be recognised and redacted. */
const lastWords = (said: string) =>
  said.length <= STDERR_CHARACTERS ? said : said.slice(-STDERR_CHARACTERS).replace(/^\S*\s?/, '');

/** MCP over the pipes of a confined process. Its stderr is drained; the end is kept for error messages. */
export class ConfinedStdio implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #start: StartConfined;
  readonly #command: ConfinedCommand;
  readonly #buffer = new ReadBuffer({ maxBufferSize: MESSAGE_BYTES });
  #process: ConfinedProcess | undefined;
  #stderr = '';

  constructor(start: StartConfined, command: ConfinedCommand) {
    this.#start = start;
    this.#command = command;
  }

  /** The end of the server's stderr. */
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
    // Its last answer may still be in the pipe after it has ended.
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
    } catch (error) {
      this.onerror?.(error as Error);
      void this.close();
      return;
    }
    for (let message = this.#next(); message; message = this.#next()) this.onmessage?.(message);
  }

  /** The next message; other lines, such as logs on stdout, are skipped. */
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
