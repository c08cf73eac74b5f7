import type { FastifyReply } from 'fastify';

/** A reply with the bytes of a user's file. */
export class FileReply {
  readonly name: string;
  readonly media_type: string;
  readonly content: Uint8Array;
  constructor({ name, media_type, content }: Pick<FileReply, 'name' | 'media_type' | 'content'>) {
    this.name = name;
    this.media_type = media_type;
    this.content = content;
  }
}

/** Encodes a character that `encodeURIComponent` keeps and a parameter of a header may not have. */
const toPercent = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;

/** Sends a file as a download. A browser must not show it as a page of this service, because its content is untrusted. */
export function sendFile(reply: FastifyReply, { name, media_type, content }: FileReply): FastifyReply {
  return reply
    .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name).replaceAll(/['()*]/g, toPercent)}`)
    .header('content-security-policy', "sandbox; default-src 'none'; frame-ancestors 'none'")
    .type(media_type)
    .send(Buffer.from(content));
}
