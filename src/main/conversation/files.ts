import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename } from 'node:path';
import type { Attachment, PerduraClient } from '../../client/index.ts';

/** Uploads a file of this computer for the next message. Terminals put quotes around the path of a file that is dropped on them. */
export async function uploadFile(client: PerduraClient, words: string): Promise<Attachment> {
  const path = words.replace(/^(['"])(.*)\1$/, '$2').replace(/^~(?=\/)/, homedir());
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? `There is no file ${path}` : `The file ${path} cannot be read: ${error.message}`);
  });
  const body = new FormData();
  body.append('file', new Blob([content]), basename(path));
  return client.request('POST /api/attachments', { body });
}
