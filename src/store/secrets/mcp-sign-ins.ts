import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { findOutage } from '../../domain/outages.ts';
import { type Database, type Queryable, row, rows } from '../database/database.ts';
import type { KeyRing, Sealed } from './key-ring.ts';
import * as sql from './mcp-sign-ins.sql.ts';

/** A person's sign-in at an MCP server, sealed as a whole. */
export interface McpSignInSecrets {
  /** The address that the tokens are for. They are not sent to a server at another address. */
  url: string;
  tokens: OAuthTokens;
  client: OAuthClientInformationMixed;
  discovery: OAuthDiscoveryState;
}

/** The data needed to complete a sign-in in progress, sealed as a whole. */
export interface McpAttemptSecrets extends Omit<McpSignInSecrets, 'tokens'> {
  verifier: string;
}

/** The person and the server of a sign-in. */
interface McpSignInPlace {
  server_id: string;
  principal: string;
}

interface NewAttempt extends McpSignInPlace {
  state: string;
  /** The access token of the request that begins the attempt. The same one has to complete it. */
  session: string;
  secrets: McpAttemptSecrets;
  expires_at: Date;
}

interface AttemptRow extends McpSignInPlace, Sealed {
  session_hash: Uint8Array;
  expires_at: Date;
}

export type McpSignInStore = ReturnType<typeof mcpSignInStore>;

/** The time that a process may take to renew tokens, which includes requesting them and writing them through an outage. */
const LEASE_SECONDS = 60;
const WRITTEN_WITHIN_MS = 40_000;
const PAUSE_MS = 500;

const toContext = ({ server_id, principal }: McpSignInPlace) => `mcp-sign-in:${server_id}:${principal}`;
const attemptContext = (hash: Uint8Array) => `mcp-sign-in-attempt:${Buffer.from(hash).toString('hex')}`;
const hashText = (text: string) => new Uint8Array(createHash('sha256').update(text).digest());

/** The longest lifetime that is accepted. A server may send any number; this one gives a date that Postgres can store. */
const LONGEST_SECONDS = 10 * 365 * 86_400;
const toLifetimeMs = (expires_in: number) => Math.max(0, Math.min(expires_in, LONGEST_SECONDS)) * 1_000;

/** Returns when the access token expires; null if the server did not report it. */
const toExpiry = ({ expires_in }: OAuthTokens) =>
  expires_in === undefined ? null : new Date(Date.now() + toLifetimeMs(expires_in));

/**
 * Writes, and tries again through an outage: the server has taken the refresh token, and the new tokens exist nowhere else.
 * Returns true if a row was written.
 */
async function writeThroughOutage(pool: Queryable, query: Parameters<typeof row>[1]): Promise<boolean> {
  const until = performance.now() + WRITTEN_WITHIN_MS;
  for (;;) {
    try {
      return (await row(pool, query)) !== undefined;
    } catch (error) {
      if (!findOutage(error) || performance.now() > until) throw error;
      await wait(PAUSE_MS);
    }
  }
}

export function mcpSignInStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>, keys: KeyRing) {
  const table = prisma.mcpSignIn;
  const toKey = ({ server_id, principal }: McpSignInPlace) => ({ server_id, principal });
  const openSecrets = (place: McpSignInPlace, sealed: Sealed): McpSignInSecrets => {
    const secrets = JSON.parse(keys.openQuietly(sealed, toContext(place))) as McpSignInSecrets;
    for (const secret of [secrets.tokens.access_token, secrets.tokens.refresh_token, secrets.client.client_secret])
      if (secret) keys.recordSecret(secret);
    return secrets;
  };
  const sealSecrets = (place: McpSignInPlace, secrets: McpSignInSecrets) => {
    const { tokens } = secrets;
    return {
      ...keys.seal(JSON.stringify(secrets), toContext(place)),
      expires_at: toExpiry(tokens),
      renews: tokens.refresh_token !== undefined,
    };
  };
  return {
    /** Lists the sign-ins of a person, without their secrets. */
    listSignIns: (principal: string, server_ids: string[]) =>
      table.findMany({
        where: { principal, server_id: { in: server_ids } },
        select: { server_id: true, signed_in_at: true, expires_at: true, renews: true },
      }),
    async find(place: McpSignInPlace): Promise<(McpSignInSecrets & { expires_at: Date | null }) | null> {
      const sign_in = await table.findUnique({ where: { server_id_principal: toKey(place) } });
      return sign_in && { ...openSecrets(place, sign_in as Sealed), expires_at: sign_in.expires_at };
    },
    /** Opens the secrets that runs of a person may send to these servers, so that they are redacted. */
    async openForRedaction(principal: string, server_ids: string[]): Promise<void> {
      if (server_ids.length === 0) return;
      const sign_ins = await table.findMany({ where: { principal, server_id: { in: server_ids } } });
      for (const sign_in of sign_ins) openSecrets(sign_in, sign_in as Sealed);
    },
    /** Replaces the person's earlier sign-in at the server. */
    async save(place: McpSignInPlace, secrets: McpSignInSecrets) {
      const values = { ...sealSecrets(place, secrets), signed_in_at: new Date(), lease: null, leased_until: null };
      const where = { server_id_principal: toKey(place) };
      return table.upsert({ where, create: { ...toKey(place), ...values }, update: values });
    },
    remove: async (place: McpSignInPlace): Promise<void> => void (await table.deleteMany({ where: toKey(place) })),
    /** Ends everybody's sign-in at a server. */
    removeAll: async (server_id: string): Promise<void> => {
      await table.deleteMany({ where: { server_id } });
      await prisma.mcpSignInAttempt.deleteMany({ where: { server_id } });
    },
    /** Leases a sign-in for renewal. Returns null if another process is renewing it, or there is none. */
    async lease(place: McpSignInPlace) {
      const lease = randomUUID();
      const leased = { ...toKey(place), lease };
      const sign_in = await row<Sealed>(pool, sql.leaseMcpSignIn({ ...leased, seconds: LEASE_SECONDS }));
      if (!sign_in) return null;
      return {
        secrets: openSecrets(place, sign_in),
        /** Writes the renewed secrets. Returns true if it was still the person's sign-in. */
        async renew(secrets: McpSignInSecrets): Promise<boolean> {
          const { sealed, ...values } = sealSecrets(place, secrets);
          const query = sql.renewMcpSignIn({ ...leased, ...values, sealed: Buffer.from(sealed) });
          return writeThroughOutage(pool, query);
        },
        end: async (): Promise<void> => void (await rows(pool, sql.endMcpSignIn(leased))),
        release: async (): Promise<void> => void (await rows(pool, sql.releaseMcpSignIn(leased))),
      };
    },
    async begin({ state, session, secrets, ...attempt }: NewAttempt): Promise<void> {
      const hash = hashText(state);
      const sealed = keys.seal(JSON.stringify(secrets), attemptContext(hash));
      await prisma.mcpSignInAttempt.create({ data: { ...attempt, ...sealed, hash, session_hash: hashText(session) } });
    },
    /**
     * Takes the attempt that has the state, so that nobody can take it again. Returns null if there is none, it is too old, or
     * another person or session began it.
     */
    async take(state: string, by: { principal: string; session: string }) {
      const hash = hashText(state);
      const attempt = await row<AttemptRow>(pool, sql.takeMcpSignInAttempt({ hash: Buffer.from(hash) }));
      const is_theirs =
        attempt?.principal === by.principal &&
        timingSafeEqual(attempt.session_hash, hashText(by.session)) &&
        attempt.expires_at > new Date();
      if (!attempt || !is_theirs) return null;
      const { server_id, principal } = attempt;
      return { server_id, principal, ...(JSON.parse(keys.openQuietly(attempt, attemptContext(hash))) as McpAttemptSecrets) };
    },
    /** Seals everything again with the active key. Returns how many sign-ins were affected. */
    async rotate(): Promise<number> {
      const where = { key_id: { not: keys.active_key_id } };
      const reseal = (sealed: Sealed, context: string) => keys.seal(keys.openQuietly(sealed, context), context);
      const stale_rows = await table.findMany({ where });
      for (const { sealed, ...place } of stale_rows) {
        const before = { ...toKey(place), sealed };
        // Tokens that were renewed in the meantime are already sealed with the active key.
        await table.updateMany({ where: before, data: reseal({ sealed, key_id: place.key_id }, toContext(place)) });
      }
      const attempts = await prisma.mcpSignInAttempt.findMany({ where });
      for (const { hash, sealed, key_id } of attempts)
        await prisma.mcpSignInAttempt.updateMany({ where: { hash }, data: reseal({ sealed, key_id }, attemptContext(hash)) });
      return stale_rows.length;
    },
  };
}
