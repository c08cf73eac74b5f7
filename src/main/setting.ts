import { hostRule } from '../domain/hosts.ts';
import { encryptionKey, encryptionKeyFile, localToken, webhookSecret } from '../embedded/local-identity.ts';
import type { IdentityCheck } from '../identity/cached-identity.ts';
import { oidcIdentity } from '../identity/oidc.ts';
import { codeHostIdentity, localIdentity } from '../identity/providers.ts';
import { openDatabase } from '../store/database/database.ts';
import { requireOwnSchema } from '../store/database/migrations.ts';
import type { Principal } from '../store/people/principals.ts';
import { holdsSealedData } from '../store/secrets/key-check.ts';
import type { Config } from './config.ts';
import type { InstallationSettings } from './installation-settings.ts';
import { MIGRATIONS, PERDURA_VERSION } from './places.ts';
import { DEFAULT_PORT } from './variables.ts';
import { createInstallationFetch, toHostPort } from './wiring/egress.ts';

const CODE_HOSTS = {
  github: 'https://api.github.com',
  gitlab: 'https://gitlab.com/api/v4',
  gitea: 'https://gitea.com/api/v1',
} as const;

/** The code-hosting provider's model endpoint, and the model that it is asked for if nothing names one. */
const SHIPPED_RUNTIME = { base_url: 'https://models.github.ai/inference', model: 'openai/gpt-5.4-mini' };

/** The person at the machine of an embedded installation. */
const LOCAL_LOGIN = 'local';
const LOCAL_PRINCIPAL: Principal = { provider: 'local', subject: LOCAL_LOGIN, login: LOCAL_LOGIN };

/** Returns the principal of the token in the home folder; null if that token is not accepted. */
export const findLocalPrincipal = ({ IDENTITY_PROVIDERS: names }: Config): Principal | null =>
  names.length === 0 || names.includes('local') ? LOCAL_PRINCIPAL : null;

/**
 * Lists the administrators of an embedded installation: the configured ones, otherwise anyone who can read the token in the home
 * folder.
 */
export function listAdministrators(config: Config): string[] {
  const { ADMIN_SUBJECTS: subjects } = config;
  const local = findLocalPrincipal(config);
  return subjects.length === 0 && local ? [`${local.provider}:${local.subject}`] : subjects;
}

/** Returns the configured default runtime; null: none is configured. */
export const findDefaultRuntime = ({ DEFAULT_RUNTIME_BASE_URL: base_url, DEFAULT_RUNTIME_MODEL: model }: Config) =>
  base_url ? { base_url, model: model ?? null } : null;

const getDefaultRuntime = (config: Config) =>
  findDefaultRuntime(config) ?? { ...SHIPPED_RUNTIME, model: config.DEFAULT_RUNTIME_MODEL ?? SHIPPED_RUNTIME.model };

/**
 * Creates the enabled identity providers: the configured ones, otherwise the given one. `local` means the token in the home
 * folder.
 */
export async function createIdentityChecks(config: Config, fallback: 'local' | 'github'): Promise<IdentityCheck[]> {
  const names = config.IDENTITY_PROVIDERS.length > 0 ? config.IDENTITY_PROVIDERS : [fallback];
  // Providers that verify a token locally come first, so that no other provider receives it.
  const sorted = names.toSorted((a, b) => Number(a in CODE_HOSTS) - Number(b in CODE_HOSTS));
  return Promise.all(sorted.map((name) => createIdentityCheck(name, config)));
}

async function createIdentityCheck(name: string, config: Config): Promise<IdentityCheck> {
  if (name === 'local') return localIdentity([{ login: LOCAL_LOGIN, token: (await localToken(config.PERDURA_HOME)).token }]);
  if (name === 'oidc') return createOidcCheck(config);
  if (!(name in CODE_HOSTS)) throw new Error(`IDENTITY_PROVIDERS: ${name} is not one of github, gitlab, gitea, oidc, local`);
  const provider = name as keyof typeof CODE_HOSTS;
  const api_url = config.IDENTITY_API_URL ?? CODE_HOSTS[provider];
  return codeHostIdentity({ provider, api_url, fetch: createInstallationFetch(config) });
}

function createOidcCheck(config: Config): IdentityCheck {
  const { OIDC_ISSUER: issuer, OIDC_AUDIENCE: audiences, OIDC_ROLE_CLAIM: role_claim = null } = config;
  if (!issuer || audiences.length === 0)
    throw new Error('IDENTITY_PROVIDERS has oidc: set OIDC_ISSUER and OIDC_AUDIENCE to what the tokens have as iss and aud');
  return oidcIdentity({ issuer, audiences, role_claim, fetch: createInstallationFetch(config) });
}

/** Returns ENCRYPTION_KEYS, or the key stored in the home folder; `url` is that of a migrated database. */
export async function loadEncryptionKeys({ ENCRYPTION_KEYS, PERDURA_HOME }: Config, url: string): Promise<string> {
  return ENCRYPTION_KEYS ?? `home:${(await encryptionKey(PERDURA_HOME, () => isSealed(url))).key}`;
}

/** Returns the source of the keys, for sentences about them. */
export const describeKeySource = ({ ENCRYPTION_KEYS, PERDURA_HOME }: Config): string =>
  ENCRYPTION_KEYS ? 'ENCRYPTION_KEYS' : `the key file ${encryptionKeyFile(PERDURA_HOME)}`;

async function isSealed(url: string): Promise<boolean> {
  const { pool, close } = openDatabase({ url });
  try {
    await requireOwnSchema(pool, MIGRATIONS);
    return await holdsSealedData(pool);
  } finally {
    await close();
  }
}

/** Returns the embedding endpoint; null if the environment names none. */
export const findEmbeddings = ({ EMBEDDINGS_BASE_URL: base_url, EMBEDDINGS_MODEL: model, EMBEDDINGS_API_KEY }: Config) =>
  base_url ? { base_url, model, api_key: EMBEDDINGS_API_KEY ?? null } : null;

/** Returns WEBHOOK_SECRET, or the secret stored in the home folder. */
export const loadWebhookSecret = async ({ WEBHOOK_SECRET, PERDURA_HOME }: Config): Promise<string> =>
  WEBHOOK_SECRET ?? webhookSecret(PERDURA_HOME);

/** Loads the settings of a process that uses external servers. */
export async function loadExternalSettings(config: Config): Promise<InstallationSettings> {
  const { DATABASE_URL, TEMPORAL_ADDRESS } = config;
  if (!DATABASE_URL || !TEMPORAL_ADDRESS) {
    throw new Error('Set DATABASE_URL and TEMPORAL_ADDRESS, or use `npm start`, which brings its own servers');
  }
  if (config.OIDC_CLIENT_ID && !config.PERDURA_PUBLIC_URL)
    throw new Error('OIDC_CLIENT_ID is set: set PERDURA_PUBLIC_URL, too, to which the issuer sends people back');
  return {
    config,
    version: PERDURA_VERSION,
    database_url: DATABASE_URL,
    direct_database_url: config.DATABASE_DIRECT_URL ?? null,
    temporal_address: TEMPORAL_ADDRESS,
    temporal_ui_url: config.TEMPORAL_UI_URL ?? null,
    public_url: () => config.PERDURA_PUBLIC_URL ?? null,
    encryption_keys: await loadEncryptionKeys(config, config.DATABASE_DIRECT_URL ?? DATABASE_URL),
    default_runtime: getDefaultRuntime(config),
    embeddings: findEmbeddings(config),
    webhook_secret: await loadWebhookSecret(config),
    egress_allow: config.EGRESS_ALLOW,
    configuration_allow: [],
    provider_allow: [toHostPort(getDefaultRuntime(config).base_url)],
    own_ports: [config.PERDURA_PORT ?? DEFAULT_PORT],
    // Behind a proxy only the operator knows the names.
    answers_to: config.ALLOWED_HOSTS.length > 0 ? hostRule({ listening: '0.0.0.0', names: config.ALLOWED_HOSTS }) : null,
    identity_providers: await createIdentityChecks(config, 'github'),
  };
}
