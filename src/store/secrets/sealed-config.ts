import { MASK } from '../../contracts/mcps.ts';
import { isTemplate, mapTexts, namesSecret } from '../../domain/secrets.ts';
import { isOrdinary } from '../../domain/spellings.ts';
import type { KeyRing, Sealed } from './key-ring.ts';

const SEAL = /^\{\{sealed:([^:}]+):([^}]+)\}\}$/;

/**
 * True if a text is a secret. All values of `env` and `headers` are sealed, even harmless ones such as a content type, which a
 * run may show.
 */
const isSecret = (text: string, path: string) =>
  !/(?:^|\.)(?:env|headers)\.[^.]+$/.test(path) || namesSecret(path) || MORE_NAMES.test(path) || !isOrdinary(text);
const MORE_NAMES = /pass|pwd|auth|cred|private/i;

/** Seals, masks and opens the secrets in a resource's configuration. `context` ties a seal to its resource. */
export function configSealer(keys: KeyRing, context: string) {
  const seal = (text: string) => {
    const { sealed, key_id } = keys.seal(text, context);
    return `{{sealed:${key_id}:${Buffer.from(sealed).toString('base64')}}}`;
  };
  const unseal = (text: string) => {
    const [, key_id, body] = SEAL.exec(text) ?? [];
    return key_id && body
      ? keys.openQuietly({ sealed: new Uint8Array(Buffer.from(body, 'base64')), key_id } as Sealed, context)
      : text;
  };
  return {
    /**
     * Returns the stored form. A mask that a client sends back keeps the value stored in `before`; without `before` it is
     * dropped.
     */
    seal(config: unknown, before: unknown = {}): Record<string, unknown> {
      const stored_texts = new Map<string, string>();
      mapTexts(before, (text, { path }) => stored_texts.set(path, text));
      const sealed = mapTexts(config, (text, { secret, path }) => {
        if (text === MASK) return stored_texts.get(path) ?? '';
        return SEAL.test(text) || (secret && text !== '' && !isTemplate(text)) ? seal(text) : text;
      });
      return sealed as Record<string, unknown>;
    },
    /** Returns the masked form for readers. */
    mask: (config: unknown) => mapTexts(config, (text) => (SEAL.test(text) ? MASK : text)) as Record<string, unknown>,
    /** Lists the paths of the masks. */
    listMasks(config: unknown): string[] {
      const paths: string[] = [];
      mapTexts(config, (text, { path }) => (text === MASK ? paths.push(path) : text));
      return paths;
    },
    /** Returns the opened form for connecting; stored tokens are not filled in yet. */
    open: (config: unknown) =>
      mapTexts(config, (text, { path }) => {
        const opened_text = unseal(text);
        if (opened_text !== text && isSecret(opened_text, path)) keys.recordSecret(opened_text);
        return opened_text;
      }) as Record<string, unknown>,
    /** Seals the configuration again with the active key; null if everything already was. */
    renew(config: unknown): Record<string, unknown> | null {
      let is_stale = false;
      const renewed_config = mapTexts(config, (text) => {
        const key_id = SEAL.exec(text)?.[1];
        if (!key_id || key_id === keys.active_key_id) return text;
        is_stale = true;
        return seal(unseal(text));
      });
      return is_stale ? (renewed_config as Record<string, unknown>) : null;
    },
  };
}
export type ConfigSealer = ReturnType<typeof configSealer>;
