import { setTimeout as wait } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { OutageError } from '../../domain/outages.ts';
import { textWithReason } from '../../domain/reason.ts';

/** Stores objects by name, in a place that every worker reaches. Each call throws if the place is unreachable for a while. */
export interface ObjectStore {
  /** Resolves when the object is stored durably. */
  put(key: string, content: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Returns the object; null if it does not exist. */
  get(key: string, signal: AbortSignal): Promise<Uint8Array | null>;
  /** Lists the parts that follow `prefix` in the keys, up to the next slash. */
  folders(prefix: string): Promise<string[]>;
  /** Removes all objects whose keys begin with `prefix`. */
  remove(prefix: string): Promise<void>;
}

interface Bucket extends ObjectStore {
  /** Lists once, within this time, without a retry. Throws a sentence that names the cause and the setting. */
  ping(limit_ms: number): Promise<void>;
}

export interface S3Settings {
  endpoint: string;
  bucket: string;
  region: string;
  access_key_id: string;
  secret_access_key: string;
  /** The prefix of every key: two installations may share a bucket. */
  prefix: string;
}

interface S3Config {
  S3_BUCKET?: string | undefined;
  S3_ACCESS_KEY_ID?: string | undefined;
  S3_SECRET_ACCESS_KEY?: string | undefined;
  S3_ENDPOINT?: string | undefined;
  S3_REGION: string;
  S3_PREFIX: string;
}

/**
 * Parses the settings. Null: workspaces stay in the home, which all workers share. Throws a sentence if the settings are
 * incomplete.
 */
export function parseS3Settings(config: S3Config): S3Settings | null {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_REGION: region, S3_PREFIX: prefix } = config;
  if (!bucket) return null;
  if (!S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY)
    throw new Error('S3_BUCKET is set: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY too, or unset S3_BUCKET');
  const endpoint = config.S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`;
  return { endpoint, bucket, region, prefix, access_key_id: S3_ACCESS_KEY_ID, secret_access_key: S3_SECRET_ACCESS_KEY };
}

const REQUEST_MS = 60_000;
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;

/** Creates a store in an S3 bucket, addressed by path, on any server that supports S3's API. */
export function createS3Store({ prefix: root, ...settings }: S3Settings, fetch: typeof globalThis.fetch): Bucket {
  const ask = createRequester(settings, fetch);

  async function fetchPage(prefix: string, more: Record<string, string>): Promise<string> {
    const query = new URLSearchParams({ 'list-type': '2', prefix: root + prefix, ...more });
    const text = (await ask({ method: 'GET', path: `?${query}` })).toString();
    // A proxy's error page contains no keys either, but is not an empty bucket.
    if (!LISTING.test(text)) throw new ObjectStoreDown(notListed(settings));
    return text;
  }

  async function* fetchFolderPages(prefix: string): AsyncGenerator<string> {
    let token: string | undefined;
    for (let read = 0; read < MOST_PAGES; read += 1) {
      const text = await fetchPage(prefix, { delimiter: '/', ...(token ? { 'continuation-token': token } : {}) });
      yield text;
      const [next] = parseValues(text, 'NextContinuationToken');
      if (next === undefined) return;
      if (next === token) break;
      token = next;
    }
    throw new ObjectStoreDown(endless(settings));
  }

  const listKeys = async (prefix: string) => parseValues(await fetchPage(prefix, {}), 'Key');

  return {
    async put(key, content, signal) {
      await ask({ method: 'PUT', path: `/${root}${key}`, content, signal });
    },
    get: (key, signal) =>
      ask({ method: 'GET', path: `/${root}${key}`, signal }).catch((error: unknown) => {
        if (error instanceof Refused && error.status === 404 && !/NoSuchBucket/.test(error.message)) return null;
        throw error;
      }),
    async folders(prefix) {
      const folders: string[] = [];
      for await (const text of fetchFolderPages(prefix)) {
        const commons = parseValues(text, 'CommonPrefixes').flatMap((inner) => parseValues(inner, 'Prefix'));
        folders.push(...commons.map((folder) => folder.slice(root.length + prefix.length, -1)));
      }
      return folders;
    },
    async ping(limit_ms) {
      const query = new URLSearchParams({ 'list-type': '2', prefix: root, 'max-keys': '1' });
      await ask({ method: 'GET', path: `?${query}`, limit_ms, attempts: 1 });
    },
    async remove(prefix) {
      // The listing starts over for each page: the next page would continue after the last key, which has just been removed.
      let last: string | undefined;
      for (let keys = await listKeys(prefix); keys.length > 0; keys = await listKeys(prefix)) {
        if (keys[0] === last) throw new ObjectStoreDown(stillListed(settings, keys[0] as string));
        for (const key of keys) await ask({ method: 'DELETE', path: `/${key}` });
        last = keys[0];
      }
    },
  };
}

/** The limit for pages of a thousand folders each. */
const MOST_PAGES = 10_000;
const LISTING = /<ListBucketResult[\s/>]/;

type Place = Pick<S3Settings, 'endpoint' | 'bucket'>;
const formatBaseUrl = ({ endpoint, bucket }: Place) => `${endpoint.replace(/\/$/, '')}/${bucket}`;

const endless = (place: Place) =>
  `The object store ${formatBaseUrl(place)} does not end its list of objects; S3_ENDPOINT must be the address of an S3 service`;
const stillListed = (place: Place, key: string) =>
  `The object store ${formatBaseUrl(place)} still lists ${key} after it was removed; S3_ACCESS_KEY_ID must be allowed to delete objects`;
const notListed = (settings: Place) =>
  `The object store ${formatBaseUrl(settings)} answered GET with something that is not a list of objects; S3_ENDPOINT must be the address of an S3 service`;

/** The elements of a list. Perdura's keys contain no character that XML would escape. */
const ELEMENTS = {
  Key: /<Key>([^<]*)<\/Key>/g,
  Prefix: /<Prefix>([^<]*)<\/Prefix>/g,
  CommonPrefixes: /<CommonPrefixes>(.*?)<\/CommonPrefixes>/gs,
  NextContinuationToken: /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/g,
  Code: /<Code>([^<]*)<\/Code>/g,
};

const parseValues = (xml: string, name: keyof typeof ELEMENTS): string[] =>
  [...xml.matchAll(ELEMENTS[name])].map(([, value]) => value as string);

interface Ask {
  method: 'GET' | 'PUT' | 'DELETE';
  /** The path below the bucket. */
  path: string;
  content?: Uint8Array;
  signal?: AbortSignal;
  /** The time limit of one attempt. */
  limit_ms?: number;
  attempts?: number;
}

/** The object store is unreachable, or refuses what it should accept, until an operator repairs it. */
class ObjectStoreDown extends OutageError {
  override readonly name: string = 'ObjectStoreDown';
  constructor(sentence: string, cause?: unknown) {
    super({ code: 'object_store_unavailable', sentence }, cause);
  }
}

/** A refusal that a repetition would not change. */
class Refused extends ObjectStoreDown {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function createRequester(settings: Omit<S3Settings, 'prefix'>, fetch: typeof globalThis.fetch) {
  const { region, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = settings;
  const base = formatBaseUrl(settings);

  async function once({ method, path, content, signal, limit_ms = REQUEST_MS }: Ask): Promise<Buffer> {
    const signing = { method, url: base + path, accessKeyId, secretAccessKey, service: 's3', region };
    const { url, headers } = await new AwsV4Signer(signing).sign();
    const limit = AbortSignal.timeout(limit_ms);
    const options = { method, headers, signal: signal ? AbortSignal.any([signal, limit]) : limit };
    const response = await fetch(url, { ...options, ...(content ? { body: Buffer.from(content) } : {}) });
    const body = Buffer.from(await response.arrayBuffer());
    if (response.ok) return body;
    const reason = `${response.status} ${parseValues(body.toString(), 'Code')[0] ?? response.statusText}`;
    const message = `The object store ${base} answered ${method} with ${reason}`;
    if (response.status >= 500 || response.status === 429) throw new Error(message);
    throw new Refused(response.status, `${message} (S3_BUCKET, S3_ACCESS_KEY_ID)`);
  }

  return async (ask: Ask): Promise<Buffer> => {
    for (let attempt = 1, pause = FIRST_PAUSE_MS; ; attempt += 1, pause *= 2) {
      try {
        return await once(ask);
      } catch (error) {
        ask.signal?.throwIfAborted();
        if (error instanceof Refused) throw error;
        if (attempt === (ask.attempts ?? ATTEMPTS))
          throw new ObjectStoreDown(
            `The object store ${base} is unreachable: ${textWithReason(error as Error)} (S3_ENDPOINT)`,
            error,
          );
        await wait(pause, undefined, { ...(ask.signal && { signal: ask.signal }) });
      }
    }
  };
}
