import type { Socket } from 'node:net';
import type pg from 'pg';

/*
 * The only place that uses what `pg` does not document. test/unit/vendor.test.ts names the version that was looked at, and what is
 * lost without each part.
 */

export const TESTED_PG = '8.23.1';

interface Internals {
  _queryable: boolean;
  _ending: boolean;
  _ended: boolean;
  _getActiveQuery(): unknown;
  processID: number;
  unref(): void;
  connection: { stream: Socket };
}

/** The connections of a pool have the same parts. */
type Client = Pick<pg.ClientBase, 'query'>;

const open = (client: Client) => client as unknown as Internals;

/** True if the connection can run no further statement: it broke, was closed or is being closed. */
export function isBroken(client: Client): boolean {
  const { _queryable, _ending, _ended } = open(client);
  return !_queryable || Boolean(_ending) || Boolean(_ended);
}

/** Returns the statement whose answer is awaited. */
export const getUnanswered = (client: Client): unknown => open(client)._getActiveQuery();

/** Returns the id of the server's process for this connection. */
export const getBackend = (client: Client): number => open(client).processID;

/** Lets this process end although the connection is open. */
export const unrefConnection = (client: Client): void => open(client).unref();

/** Closes the connection without a goodbye, which a silent server would not answer. */
export const dropConnection = (client: Client): void => void open(client).connection.stream.destroy();

/** The part of a connection that a statement in the copy protocol uses. */
interface Wire {
  query(text: string): void;
  stream: Pick<Socket, 'pause' | 'resume'>;
}

interface CopyReader {
  /** Receives each message of the copy. The buffer is reused behind it. */
  onMessage(chunk: Buffer, stream: Wire['stream']): void;
  onStart(stream: Wire['stream']): void;
}

/** Runs a statement whose answer is a copy, as those of the replication protocol are. Resolves when the copy has ended. */
export function readCopy(client: pg.Client, text: string, { onMessage, onStart }: CopyReader): Promise<void> {
  const ignore = () => {};
  return new Promise((done, fail) => {
    client.query({
      submit(wire: unknown) {
        onStart((wire as Wire).stream);
        (wire as Wire).query(text);
      },
      handleCopyData: ({ chunk }: { chunk: Buffer }, { stream }: Wire) => onMessage(chunk, stream),
      handleRowDescription: ignore,
      handleDataRow: ignore,
      handleCommandComplete: ignore,
      handleError: fail,
      handleReadyForQuery: () => done(),
    } as unknown as pg.Submittable);
  });
}
