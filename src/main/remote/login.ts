import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config.ts';

const Login = z.object({ url: z.string(), token: z.string() });
type Login = z.output<typeof Login>;

export const loginFile = ({ XDG_CONFIG_HOME }: Pick<Config, 'XDG_CONFIG_HOME'>): string =>
  join(XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'perdura', 'login.json');

/** Returns what `perdura login` stored; null if nothing is stored. */
export async function loadLogin(config: Config): Promise<Login | null> {
  const file = loginFile(config);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  if ((await stat(file)).mode & 0o077)
    throw new Error(`${file} holds an access token and can be read by others; run chmod 600 ${file}`);
  const { data } = Login.safeParse(parseJson(text));
  if (!data) throw new Error(`${file} is damaged; run perdura login again`);
  return data;
}

/** Stores a login. Nobody else can read the file, not even while it is written. */
export async function storeLogin(config: Config, login: Login): Promise<string> {
  const file = loginFile(config);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(login), { mode: 0o600, flag: 'wx' });
  await chmod(draft, 0o600);
  await rename(draft, file);
  return file;
}

export async function removeLogin(config: Config): Promise<boolean> {
  const has_login = (await loadLogin(config).catch(() => true)) !== null;
  await rm(loginFile(config), { force: true });
  return has_login;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
