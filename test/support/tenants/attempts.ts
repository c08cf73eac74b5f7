import { localIdentity } from '../../../src/identity/providers.ts';
import { clientOf } from '../client.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../installation.ts';
import { says } from '../peers/model-server.ts';
import { type Description, type Operation, operationsOf } from './api.ts';
import { type Digest, openDigest } from './digest.ts';
import { firstTenant, type MadeTenant, PRIVATE, SECRET, secondTenant, TOKEN_PRIVATE } from './world.ts';

const CAROL = 'token-of-carol';
const FIRST = 'local:alice';
/** How long an open stream is read. */
const STREAM_MS = 700;

export interface Answer {
  status: number;
  text: string;
  replayed: boolean;
}

export interface Sending {
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Matrix {
  here: TestInstallation;
  operations: Operation[];
  first: MadeTenant;
  second: MadeTenant;
  admin: MadeTenant;
  /** Sends a request as a tenant, and returns the response and every leak or unwanted change. */
  attempt(
    who: MadeTenant,
    request: string,
    sending?: Sending & { may_change?: boolean },
  ): Promise<{ answer: Answer; faults: string[] }>;
  /** Returns the requests with the first tenant's secret that any server received since the last call. */
  leaks(): string[];
  stop(): Promise<void>;
}

/** Starts an installation with two tenants and an administrator; each of them owns one of everything. */
export async function startMatrix(): Promise<Matrix> {
  const tokens = { alice: ALICE, bob: BOB, carol: CAROL };
  const accounts = Object.entries(tokens).map(([login, token]) => ({ login, token }));
  const here = await startTestInstallation({
    env: { ADMIN_SUBJECTS: 'local:carol', SHARED_WRITE: 'owner' },
    setting: { identity_providers: [localIdentity(accounts)] },
  });
  const first = await firstTenant(here);
  here.model.always(says('ok'));
  const second = await secondTenant(here, { client: here.bob, mark: 'second' });
  const admin = await secondTenant(here, { client: clientOf(here.url, CAROL), mark: 'third' });
  const digest = await openDigest(here.setting.database_url);
  const api = (await here.anonymous.get('/openapi.json')).body as unknown as Description;
  const leaks = leaksOf(here, [first, second, admin]);
  leaks();
  return {
    ...{ here, first, second, admin, leaks, operations: operationsOf(api) },
    attempt: attempting({ url: here.url, digest, leaks }, (tenant) => {
      if (tenant === first) return { token: ALICE, hidden: [] };
      return tenant === admin ? { token: CAROL, hidden: [PRIVATE] } : { token: BOB, hidden: [PRIVATE, TOKEN_PRIVATE] };
    }),
    async stop() {
      await digest.close();
      await here.stop();
      await Promise.all([...[first, second, admin].map(({ trap }) => trap.stop())]);
    },
  };
}

const backwards = (text: string) => [...text].reverse().join('');
export const holdsSecret = (text: string) => text.includes(SECRET) || text.includes(backwards(SECRET));

function leaksOf({ model }: TestInstallation, tenants: MadeTenant[]) {
  let asked = 0;
  return () => {
    const sent = tenants.flatMap(({ trap }) => trap.received.splice(0));
    const requests = model.requests.slice(asked).map((request) => JSON.stringify(request));
    asked = model.requests.length;
    return [...sent, ...requests].filter(holdsSecret).map((text) => text.slice(0, 300));
  };
}

interface Watched {
  url: string;
  digest: Digest;
  leaks: () => string[];
}

/** Returns the token of a tenant, and the words that responses to it must not contain. */
type Knowing = (tenant: MadeTenant) => { token: string; hidden: string[] };

function attempting({ url, digest, leaks }: Watched, knowing: Knowing): Matrix['attempt'] {
  /** What the last attempt left. What the first tenant makes between two attempts belongs to one that may change it. */
  let left: Record<string, string> | undefined;
  return async (who, request, { may_change = false, ...sending } = {}) => {
    const { token, hidden } = knowing(who);
    const before = left ?? (await digest.of(FIRST));
    const answer = await send(url, token, request, sending);
    const after = await digest.of(FIRST);
    left = after;
    const changed = Object.keys(after).filter((table) => before[table] !== after[table]);
    const leaked = hidden.find((word) => answer.text.includes(word));
    const faults = [
      ...(changed.length > 0 && !may_change ? [`changed what is the first tenant's in ${changed.join(', ')}`] : []),
      ...(leaked ? [`leaked private text: …${around(answer.text, leaked)}…`] : []),
      ...(holdsSecret(answer.text) ? ['leaked a secret'] : []),
      ...leaks().map((leak) => `sent a secret: ${leak}`),
    ];
    return { answer, faults };
  };
}

const around = (text: string, word: string) => text.slice(Math.max(0, text.indexOf(word) - 80), text.indexOf(word) + 40);

async function send(url: string, token: string, request: string, { body, headers = {} }: Sending): Promise<Answer> {
  const [method, path] = request.split(' ') as [string, string];
  const form = body instanceof FormData;
  const type = body === undefined || form ? {} : { 'content-type': 'application/json' };
  const accept = { accept: 'application/json, text/event-stream' };
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...type, ...accept, ...headers },
    body: body === undefined ? null : form ? body : JSON.stringify(body),
  });
  const head = JSON.stringify([...answer.headers]);
  return { status: answer.status, text: `${head}\n${await textOf(answer)}`, replayed: answer.headers.has('idempotent-replayed') };
}

/** Reads the whole body, or the part of an open stream that arrives in time. */
async function textOf(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.includes('event-stream')) return answer.text();
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const over = setTimeout(() => void reader?.cancel().catch(() => {}), STREAM_MS);
  let text = '';
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) text += piece.value;
  clearTimeout(over);
  return text;
}
