import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bench, CONFINED, openBench } from '../support.ts';
import { sourceOf } from './host.ts';

/** A client of Postgres from the standard library: logs in by SCRAM, asks one question, returns all that comes back. */
const LOGIN = `
import base64, hashlib, hmac, struct
def send(kind, body): s.sendall(kind + struct.pack("!I", len(body) + 4) + body)
def take(n):
    data = b""
    while len(data) < n: data += s.recv(n - len(data)) or b"\\0"
    return data
def receive():
    kind, size = struct.unpack("!cI", take(5))
    return kind, take(size - 4)
send(b"", struct.pack("!I", 196608) + f"user\\0{h['user']}\\0database\\0{h['database']}\\0\\0".encode())
receive()
first = "n=,r=" + base64.b64encode(os.urandom(18)).decode()
hello = ("n,," + first).encode()
send(b"p", b"SCRAM-SHA-256\\0" + struct.pack("!I", len(hello)) + hello)
server = receive()[1][4:].decode()
nonce, salt, rounds = (part[2:] for part in server.split(","))
key = hashlib.pbkdf2_hmac("sha256", h["password"].encode(), base64.b64decode(salt), int(rounds))
digest = lambda k, text: hmac.new(k, text, "sha256").digest()
client = digest(key, b"Client Key")
last = "c=biws,r=" + nonce
signature = digest(hashlib.sha256(client).digest(), f"{first},{server},{last}".encode())
proof = base64.b64encode(bytes(a ^ b for a, b in zip(client, signature))).decode()
send(b"p", f"{last},p={proof}".encode())
receive(), receive()
send(b"Q", b"SELECT note FROM secrets\\0")
found = b""
while not found.endswith(b"SELECT 1\\0"):
    kind, body = receive()
    if kind in b"DCE": found += body
return found.decode("latin1")`;

const BY_LOOPBACK = `s = socket.create_connection((h["host"], h["port"]), 2)\n${LOGIN}`;
const BY_SOCKET = `s = socket.socket(socket.AF_UNIX); s.connect(f'{h["data"]}/.s.PGSQL.{h["port"]}')\n${LOGIN}`;

const ENGINE = `
import urllib.request
return urllib.request.urlopen(h["executions"], timeout=2).read().decode()`;

const DISK = `
found = []
for root, _, files in os.walk(h["data"]):
    for name in files:
        path = os.path.join(root, name)
        if not os.path.isfile(path): continue
        with open(path, "rb") as file:
            if h["canary"].encode() in file.read(): found.append(name)
return f"{h['canary']} in {found}" if found else False`;

const ATTACKS = [
  ['the database, its password known', BY_LOOPBACK],
  ['the database by its socket, its password known', BY_SOCKET],
  ['the engine, a run known by its id', ENGINE],
  ["the database's own files", DISK],
] as const;

/** What an attacker would need of the installation to take the secret, all of it given away. */
let facts: Record<string, unknown>;
let canary: string;
let close: () => Promise<void>;

beforeAll(async () => {
  canary = `canary-${randomBytes(12).toString('hex')}`;
  const database = `attacked_${randomBytes(6).toString('hex')}`;
  const root = new pg.Client(inject('postgres_url'));
  await root.connect();
  await root.query(`CREATE DATABASE ${database}`);
  const url = new URL(inject('postgres_url'));
  url.pathname = database;
  const own = new pg.Client(url.href);
  await own.connect();
  await own.query('CREATE TABLE secrets (note text)');
  await own.query('INSERT INTO secrets VALUES ($1)', [canary]);
  await own.query('CHECKPOINT');
  const { data_directory: data } = (await own.query('SHOW data_directory')).rows[0];
  const connection = await Connection.connect({ address: inject('temporal_address') });
  const run = await new Client({ connection }).workflow.start('nobodyRunsThis', { taskQueue: 'nobody', workflowId: canary });
  const query = encodeURIComponent(`WorkflowId = '${canary}'`);
  facts = {
    ...{ host: url.hostname, port: Number(url.port), user: url.username, password: decodeURIComponent(url.password), database },
    ...{ data, canary, executions: `${inject('temporal_ui_url')}/api/v1/namespaces/default/workflows?query=${query}` },
  };
  close = async () => {
    await run.terminate();
    await Promise.all([connection.close(), own.end()]);
    await root.query(`DROP DATABASE ${database}`);
    await root.end();
  };
});
afterAll(() => close());

async function withBench(options: Parameters<typeof openBench>[0], use: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = await openBench({ timeout_ms: 10_000, ...options });
  try {
    await use(bench);
  } finally {
    await bench.runner.close();
  }
}

describe.each(Object.entries(CONFINED))('the real servers, from the tier %s', (_, tier) => {
  it.each(ATTACKS)('withhold the secret of %s', (_name, body) =>
    withBench(tier, async (bench) => {
      const { canary: _known, ...given } = facts;
      const h = body === DISK ? facts : given;
      const answer = await bench.call(sourceOf(body), { arguments: { h } });
      expect(answer.error === null && JSON.parse(answer.result).result).toBe(false);
      expect(answer.error ?? '').not.toMatch(/NameError|SyntaxError|AttributeError|TypeError/);
      expect(JSON.stringify(answer)).not.toContain(canary);
    }),
  );
});

describe('without confinement', () => {
  it.each(ATTACKS)('the secret of %s is taken', async (_name, body) => {
    // The listing of runs is written a moment after the run.
    await withBench({ isolation: 'none' }, (bench) =>
      expect.poll(async () => bench.value(sourceOf(body), { arguments: { h: facts } }), { timeout: 15_000 }).toContain(canary),
    );
  });
});
