import type { IncomingMessage } from 'node:http';
import type { Multipart } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { AppError, unprocessable } from '../../domain/errors.ts';

/** The largest file that is accepted, in MiB. */
export const MOST_MIB = 25;

export interface Upload {
  filename: string;
  /** The media type that the sender declares. */
  media_type: string;
  content: Buffer;
  /** The form's other fields. */
  fields: Record<string, string>;
}

export const NO_UPLOAD: Upload = { filename: '', media_type: '', content: Buffer.alloc(0), fields: {} };

/** Returns the file and fields of a complete form. A form that ends early fails with 400. */
export async function parseUpload(request: FastifyRequest): Promise<Upload> {
  if (!request.isMultipart()) throw new AppError('unsupported', 'Send the file as multipart/form-data, in the field `file`');
  // A destroyed socket emits no further events, so the parser would wait forever.
  if (request.raw.destroyed) throw createFormError('The connection ended before the whole form had arrived; send it again');
  const closed = trackFinalBoundary(request.raw, parseBoundary(request));
  const { file, fields } = await parseParts(request);
  if (!closed()) throw createFormError('The form ends before its last boundary; send all of it');
  if (!file) throw noFile();
  return { ...file, fields };
}

const noFile = () => unprocessable([{ path: 'file', message: 'Send the file in the field `file`' }], 'no_file');

const createFormError = (message: string) => new AppError('invalid', message, { code: 'malformed_body' });

function parseBoundary({ headers }: FastifyRequest): string {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(headers['content-type']!) ?? [];
  const boundary = quoted ?? plain;
  if (boundary) return boundary;
  throw createFormError('The Content-Type has no boundary; let your client set it for multipart/form-data');
}

/** Tracks whether the final boundary has arrived. The multipart library accepts a form that ends early as complete. */
function trackFinalBoundary(raw: IncomingMessage, boundary: string): () => boolean {
  const last = Buffer.from(`\r\n--${boundary}--`, 'latin1');
  // No line precedes the first boundary.
  let tail = Buffer.from('\r\n');
  let has_final_boundary = false;
  raw.on('data', (chunk: Buffer) => {
    const window = Buffer.concat([tail, chunk]);
    has_final_boundary ||= window.includes(last);
    tail = window.subarray(Math.max(0, window.length - last.length + 1));
  });
  return () => has_final_boundary;
}

async function parseParts(request: FastifyRequest): Promise<{ file: Omit<Upload, 'fields'> | null; fields: Upload['fields'] }> {
  let file: Omit<Upload, 'fields'> | null = null;
  const fields = new Map<string, string>();
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file' && part.fieldname === 'file')
        file = { filename: part.filename, media_type: part.mimetype, content: await part.toBuffer() };
      else fields.set(part.fieldname, parseField(part, fields));
    }
  } catch (error) {
    if (error instanceof AppError || (error as { statusCode?: number }).statusCode) throw error;
    throw createFormError('The form ends within a part, or a part of it is malformed; send all of it');
  }
  return { file, fields: Object.fromEntries(fields) };
}

function parseField(part: Multipart, fields: ReadonlyMap<string, string>): string {
  const { fieldname: name } = part;
  if (part.type === 'file' || name === 'file') throw noFile();
  if (fields.has(name)) throw unprocessable([{ path: name, message: `\`${name}\` was sent twice; send it once` }]);
  if (part.valueTruncated) throw new AppError('too_large', `\`${name}\` is larger than a form field may be`);
  return typeof part.value === 'string' ? part.value : JSON.stringify(part.value);
}
