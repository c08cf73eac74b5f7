import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createClient } from '../../client/index.ts';
import { withoutSlashes } from '../../domain/remote-address.ts';
import type { Config } from '../config.ts';
import { storeLogin } from '../remote/login.ts';
import { parseCommand, usageError } from '../remote/options.ts';
import { note, printError, say, sayJson } from '../terminal.ts';

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/** `perdura login --url <url>`: reads the token from stdin or lets the user type it, and checks it before storing it. */
export default async function login(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('login', args);
  const url = parseAddress(given.text('url') ?? config.PERDURA_API_URL);
  const token = (await (given.has('token-stdin') ? text(process.stdin) : promptForToken())).trim();
  if (!token) throw usageError('login', 'The access token is empty');
  const { id, login: name } = await createClient({ url, token, max_retries: 0 }).request('GET /api/me');
  const file = await storeLogin(config, { url, token });
  if (given.has('json')) sayJson({ url, id, login: name, file });
  else say(`Signed in at ${url} as ${name}; the token is in ${file}`);
}

function parseAddress(address: string | undefined): string {
  if (!address) throw usageError('login', 'Name the installation: --url https://perdura.example');
  if (!URL.canParse(address)) throw usageError('login', '--url is not a URL such as https://perdura.example');
  const { protocol, hostname, username, password, origin, pathname } = new URL(address);
  if (username || password) throw usageError('login', '--url must not contain a user or password');
  if (protocol === 'http:' && !LOOPBACK.test(hostname))
    note(`The access token travels unencrypted to ${hostname}; use https if you can`);
  return withoutSlashes(`${origin}${pathname}`);
}

async function promptForToken(): Promise<string> {
  if (!process.stdin.isTTY) throw usageError('login', 'Pipe the access token into it with --token-stdin');
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: hidden, terminal: true });
  // Only now: until then the terminal shows what is typed.
  printError('Access token (it is not shown): ');
  try {
    return await lines.question('');
  } finally {
    lines.close();
    note('');
  }
}
