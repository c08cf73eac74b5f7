import { createHash } from 'node:crypto';
import type { AlertChannel } from '../../contracts/alerts.ts';
import { MASK } from '../../contracts/mcps.ts';
import { unprocessable } from '../../domain/errors.ts';
import { maskWebhook } from '../../domain/secrets.ts';

const FINGERPRINT_CHARACTERS = 8;

/** Returns an address as replies show it: its host, and a mark that distinguishes it from other addresses of the host. */
function maskAddress(url: string): string {
  const fingerprint = createHash('sha256').update(url).digest('hex').slice(0, FINGERPRINT_CHARACTERS);
  return maskWebhook(url, `${MASK}#${fingerprint}`);
}

export const maskChannels = (channels: readonly AlertChannel[]): AlertChannel[] =>
  channels.map((channel) => ('url' in channel ? { ...channel, url: maskAddress(channel.url) } : channel));

/** Replaces addresses that were sent back as they are shown by the stored ones. Throws if one of them is not stored. */
export function unmaskChannels(channels: readonly AlertChannel[], stored: readonly AlertChannel[]): AlertChannel[] {
  const urls = new Map(stored.flatMap((channel) => ('url' in channel ? [[maskAddress(channel.url), channel.url] as const] : [])));
  return channels.map((channel, at) => {
    if (!('url' in channel)) return channel;
    const url = urls.get(channel.url) ?? channel.url;
    if (url.includes(MASK))
      throw unprocessable([{ path: `channels.${at}.url`, message: 'This is how an address is shown; write the address itself' }]);
    return { ...channel, url };
  });
}
