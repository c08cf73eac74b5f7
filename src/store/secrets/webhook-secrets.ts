import { randomBytes } from 'node:crypto';
import { PREVIOUS_HOURS } from '../../contracts/webhook-secrets.ts';
import type { WebhookSecret } from '../../generated/prisma/client.ts';
import { type Database, row } from '../database/database.ts';
import { rotateWebhookSecret } from '../runs/webhooks.sql.ts';
import type { KeyRing, Sealed } from './key-ring.ts';

const SECRET_BYTES = 32;
const context = (owner: string) => `webhook-secret:${owner}`;

/** Stores the secrets that sign each owner's webhooks. An owner who never rotated uses the installation's secret. */
export function webhookSecretStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>, keys: KeyRing) {
  const findPrevious = ({ previous_sealed: sealed, previous_key_id: key_id }: WebhookSecret) =>
    sealed && key_id ? { sealed, key_id } : null;
  return {
    async describe(owner: string) {
      const secret = await prisma.webhookSecret.findUnique({ where: { owner } });
      return secret
        ? secretSummary(secret)
        : { source: 'installation' as const, fingerprint: null, rotated_at: null, previous_valid_until: null };
    },
    /** Creates a new secret. The previous one stays valid for a while; older ones stop being valid. */
    async rotate(owner: string) {
      const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
      const { sealed, key_id } = keys.seal(secret, context(owner));
      const values = { owner, sealed: Buffer.from(sealed), key_id, fingerprint: keys.fingerprint(secret) };
      const query = rotateWebhookSecret({ ...values, previous_hours: PREVIOUS_HOURS });
      return { ...secretSummary((await row<WebhookSecret>(pool, query)) as WebhookSecret), secret };
    },
    /** Returns the secrets that sign this owner's messages now, newest first. */
    async valid(owner: string, installation: string): Promise<string[]> {
      const secret = await prisma.webhookSecret.findUnique({ where: { owner } });
      if (!secret) return [installation];
      const current = keys.open(secret as Sealed, context(owner));
      if (secret.previous_until.getTime() <= Date.now()) return [current];
      const previous = findPrevious(secret);
      return [current, previous ? keys.open(previous, context(owner)) : installation];
    },
    /** Seals every secret again with the active key. Returns how many owners were affected. */
    async renew(): Promise<number> {
      const stale_secrets = await prisma.webhookSecret.findMany({
        where: { OR: [{ key_id: { not: keys.active_key_id } }, { previous_key_id: { not: keys.active_key_id } }] },
      });
      for (const secret of stale_secrets) {
        const { owner, rotated_at } = secret;
        const reseal = (sealed: Sealed) => keys.seal(keys.open(sealed, context(owner)), context(owner));
        const current = reseal(secret as Sealed);
        const previous = findPrevious(secret);
        const before = previous ? reseal(previous) : null;
        const fingerprint = keys.fingerprint(keys.open(current, context(owner)));
        // A secret rotated in the meantime is already sealed with the active key; the next call renews its previous one.
        await prisma.webhookSecret.updateMany({
          where: { owner, rotated_at },
          data: {
            ...current,
            fingerprint,
            ...(before ? { previous_sealed: before.sealed, previous_key_id: before.key_id } : {}),
          },
        });
      }
      return stale_secrets.length;
    },
  };
}

const secretSummary = ({ fingerprint, rotated_at, previous_until }: WebhookSecret) => ({
  source: 'own' as const,
  fingerprint,
  rotated_at: rotated_at.toISOString(),
  previous_valid_until: previous_until.getTime() > Date.now() ? previous_until.toISOString() : null,
});
