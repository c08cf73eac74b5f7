import { z } from 'zod';
import { Id } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

export const Attachment = z
  .object({
    id: Id,
    name: z.string(),
    media_type: z.string().meta({ description: 'Determined by the content' }),
    size: z.int().meta({ description: 'Bytes' }),
    sha256: z.string().meta({ description: 'Of the content, in hexadecimal digits' }),
  })
  .meta({ id: 'Attachment', description: 'A file that a run is given' });
export type Attachment = z.output<typeof Attachment>;

/** An attachment of a request: a file that was uploaded before, or a small file within the request. */
const AttachmentOrder = z
  .object({
    id: Id.optional().meta({ description: 'Of a file that you uploaded with `POST /api/attachments`' }),
    name: z.string().min(1).max(200).optional().meta({ description: 'Of a file within the request' }),
    media_type: z.string().max(200).optional().meta({ description: 'Has to agree with the content; default: that of `data`' }),
    data: z
      .string()
      .regex(/^data:[^,]*;base64,/, 'Send a data URL in base64, such as data:image/png;base64,…')
      .optional()
      .meta({ description: 'Instead of `id`: the file as a data URL in base64' }),
  })
  .refine(({ id, data }) => (id === undefined) !== (data === undefined), {
    message: 'Send exactly one of id and data',
    path: ['id'],
  })
  .meta({ id: 'AttachmentOrder', example: { id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001' } });
export type AttachmentOrder = z.output<typeof AttachmentOrder>;

export const AttachmentOrders = z
  .array(AttachmentOrder)
  .default([])
  .meta({ description: 'Images, PDF files and texts that the model is given with the prompt' });

const tag = 'Attachments';

export const attachments = {
  upload: endpoint('POST /api/attachments', {
    operation: 'upload_attachment',
    access: 'run',
    tag,
    summary: 'Upload a file for a prompt',
    description:
      'Images (PNG, JPEG, GIF, WebP), PDF files and UTF-8 text. The type is determined by the content; a declared type that differs is ' +
      'refused. Send the id with a prompt; a file that no prompt refers to is deleted after a day.',
    upload: true,
    reply: Attachment,
    status: 201,
  }),
  get: endpoint('GET /api/attachments/{id}', {
    operation: 'get_attachment',
    tag,
    summary: 'Describe one of your files',
    params: IdParams,
    reply: Attachment,
  }),
  content: endpoint('GET /api/attachments/{id}/content', {
    operation: 'get_attachment_content',
    tag,
    summary: 'Download one of your files',
    params: IdParams,
    kind: 'file',
  }),
  remove: endpoint('DELETE /api/attachments/{id}', {
    operation: 'delete_attachment',
    access: 'run',
    tag,
    summary: 'Delete a file that no run refers to',
    params: IdParams,
    refuses: [409, 412],
  }),
};
