import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import pg from 'pg';
import { buildClientConfig } from '../store/database/database.ts';
import { dropConnection, readCopy } from '../vendor/pg-internals.ts';

const BASE_BACKUP = "BASE_BACKUP (LABEL 'perdura backup', CHECKPOINT 'fast', WAL true, MANIFEST 'no')";
/** The first byte of a message that carries a piece of the tar file; other messages announce an archive or report progress. */
const PIECE = 'd'.charCodeAt(0);

/**
 * Copies a running Postgres to a tar file over the replication protocol, like pg_basebackup, which does not come with the
 * embedded server. The write-ahead log is included: a server that starts on the copy recovers to the moment at which the copy
 * ended.
 */
export async function copyCluster(url: string, file: string, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({ ...buildClientConfig(url, 'perdura backup'), replication: 'true' } as pg.ClientConfig);
  // The query in progress fails too and reports the error.
  client.on('error', () => {});
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600, signal });
  try {
    await Promise.all([client.connect(), once(output, 'open')]);
    // The slot ends with the session. Without it, a checkpoint during a long copy could remove log that the copy needs.
    await client.query(`CREATE_REPLICATION_SLOT perdura_${randomBytes(6).toString('hex')} TEMPORARY PHYSICAL RESERVE_WAL`);
    await receive(client, output);
    output.end();
    await once(output, 'close');
    await client.end();
  } catch (error) {
    output.destroy();
    // The connection is destroyed without a goodbye, which the server would read only after the rest of the copy.
    dropConnection(client);
    throw error;
  }
}

/** Writes the copy to the file. Rejects if the file cannot be written, without waiting for the rest of the copy. */
function receive(client: pg.Client, output: WriteStream): Promise<void> {
  return new Promise((done, fail) => {
    // It may have failed while the connection was prepared, and does not report that again.
    if (output.errored) return fail(output.errored);
    output.once('error', fail);
    const copied = readCopy(client, BASE_BACKUP, {
      onStart: (stream) => output.on('drain', () => stream.resume()),
      onMessage(chunk, stream) {
        if (chunk[0] !== PIECE || output.destroyed) return;
        // The chunk is copied because `pg` reuses the buffer behind the message.
        if (!output.write(Buffer.from(chunk.subarray(1)))) stream.pause();
      },
    });
    copied.then(done, fail);
  });
}
