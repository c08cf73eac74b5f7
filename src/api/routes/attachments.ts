import type { AttachmentOrder } from '../../contracts/attachments.ts';
import { attachments } from '../../contracts/attachments.ts';
import { type AttachedFile, detectMediaType, plainFileName } from '../../domain/attachments.ts';
import { AppError, notFound, unprocessable } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { FileReply } from '../http/file-reply.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

/** The limits on the files of a prompt. */
export interface AttachmentLimits {
  bytes_each: number;
  bytes_together: number;
  count: number;
}

interface Services {
  store: Pick<Store, 'attachments'>;
  limits: AttachmentLimits;
}

export function attachmentRoutes(api: Api, { store, limits }: Services): void {
  mount(api, attachments.upload, async ({ file: { filename, media_type, content } }, { key }) => {
    const file = checkFile({ name: plainFileName(filename), declared: media_type, content }, { limits, path: 'file' });
    return store.attachments.create({ ...file, created_by: key });
  });
  const requireFile = <T>(id: string, file: T | null): T => {
    if (!file) throw notFound('attachment', id);
    return file;
  };
  const getFile = async (id: string, owner: string) => requireFile(id, await store.attachments.find(id, owner));
  mount(api, attachments.get, ({ params: { id } }, { key }) => getFile(id, key));
  mount(
    api,
    attachments.content,
    async ({ params: { id } }, { key }) => new FileReply(requireFile(id, await store.attachments.read(id, key))),
  );
  mount(api, attachments.remove, ({ params: { id } }, { key }) => store.attachments.remove(id, key), {
    current: async ({ params: { id } }, { key }) => toReply(attachments.get.reply, await getFile(id, key)),
  });
}

interface SentFile {
  name: string;
  /** The media type that the sender declares; empty: none. */
  declared: string;
  content: Buffer;
}

/** Returns a file with the type of its content. Refuses a file that is too large, or of a type that runs do not accept. */
function checkFile({ name, declared, content }: SentFile, { limits, path }: { limits: AttachmentLimits; path: string }) {
  if (content.length === 0) throw unprocessable([{ path, message: `${name} is empty` }], 'empty_attachment');
  if (content.length > limits.bytes_each) {
    const message = `${name} has ${content.length} bytes; a file may have ${limits.bytes_each} (ATTACHMENT_MAX_MB)`;
    throw new AppError('too_large', message, { code: 'attachment_too_large', errors: [{ path, message }] });
  }
  const media_type = detectMediaType(content, { name, declared });
  if (typeof media_type !== 'string') throw unprocessable([{ path, message: media_type.message }], media_type.code);
  return { name, media_type, content };
}

/** A file of a request: a reference, or the file itself. */
export type AskedFile = { id: string } | SentFile;

/** Returns the content and the type of a base64 data URL; null if the text is not one. */
export function parseDataUrl(url: string): Pick<SentFile, 'declared' | 'content'> | null {
  const [, declared, data] = /^data:([^,]*);base64,([\s\S]*)$/i.exec(url) ?? [];
  if (declared === undefined || data === undefined || !/^[A-Za-z0-9+/\s]*={0,2}$/.test(data.trimEnd())) return null;
  return { declared, content: Buffer.from(data, 'base64') };
}

/** Returns the files that the `attachments` of a prompt name. */
export function parseAttachments(orders: readonly AttachmentOrder[]): AskedFile[] {
  return orders.map(({ id, name, media_type, data = '' }, index) => {
    if (id !== undefined) return { id };
    const file = parseDataUrl(data);
    const path = `attachments.${index}.data`;
    if (!file) throw unprocessable([{ path, message: 'The data is not base64' }], 'invalid_attachment');
    return { name: plainFileName(name ?? ''), declared: media_type ?? file.declared, content: file.content };
  });
}

interface Attaching {
  store: Pick<Store, 'attachments'>;
  limits: AttachmentLimits;
  /** Throws if the caller may not store that many more bytes. */
  admitBytes(owner: string, bytes: number): Promise<void>;
}

/** Returns the files of a prompt, after storing those that the request contains. Refuses before it stores any. */
export const createAttach =
  ({ store, limits, admitBytes }: Attaching) =>
  async (requests: readonly AskedFile[], owner: string): Promise<AttachedFile[]> => {
    if (requests.length === 0) return [];
    if (requests.length > limits.count) {
      const message = `A prompt may have ${limits.count} attachments (ATTACHMENTS_PER_PROMPT)`;
      throw unprocessable([{ path: 'attachments', message }], 'too_many_attachments');
    }
    const existing_files = await store.attachments.loadOwned(
      requests.flatMap((file) => ('id' in file ? [file.id] : [])),
      owner,
    );
    const new_files = requests.map((file, index) =>
      'id' in file ? null : checkFile(file, { limits, path: `attachments.${index}` }),
    );
    const new_bytes = new_files.reduce((sum, file) => sum + (file?.content.length ?? 0), 0);
    const bytes = existing_files.reduce((sum, { size }) => sum + size, new_bytes);
    if (bytes > limits.bytes_together) {
      const message = `The attachments of a prompt may have ${limits.bytes_together} bytes together (ATTACHMENTS_MAX_MB); these have ${bytes}`;
      throw new AppError('too_large', message, { code: 'attachments_too_large', errors: [{ path: 'attachments', message }] });
    }
    if (new_bytes > 0) await admitBytes(owner, new_bytes);
    const files: AttachedFile[] = [];
    for (const file of new_files) {
      const attachment = file ? await store.attachments.create({ ...file, created_by: owner }) : existing_files.shift()!;
      files.push(attachment);
    }
    return files;
  };

export type Attach = ReturnType<typeof createAttach>;
