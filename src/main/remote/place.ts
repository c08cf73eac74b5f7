import { createClient, type PerduraClient } from '../../client/index.ts';
import { findInstallation } from '../api-client.ts';
import type { Config } from '../config.ts';
import { loadLogin } from './login.ts';

/**
 * Creates a client of the installation that the environment names, or else that of `perdura login`, or else the one that runs
 * here.
 */
export async function remoteClient(config: Config): Promise<PerduraClient> {
  return createClient(await remotePlace(config));
}

const isId = (text: string): boolean => /^[\da-f]{8}-[\da-f-]{27}$/i.test(text);

export async function remotePlace(config: Config): Promise<{ url: string; token: string }> {
  const { PERDURA_API_URL: url, PERDURA_API_TOKEN: token } = config;
  if (url && token) return { url, token };
  if (url || token) throw new Error('Set both PERDURA_API_URL and PERDURA_API_TOKEN, or neither');
  const login = await loadLogin(config);
  if (login) return login;
  const here = await findInstallation(config).catch(() => {
    throw new Error('Sign in with perdura login --url <url>; no installation runs here either');
  });
  return { url: here.api_url, token: here.token };
}

/** Returns the id of a workflow, given as the id itself or as a title that only one workflow has. */
export async function workflowNamed(client: PerduraClient, name: string): Promise<string> {
  if (isId(name)) return name;
  const paths: string[] = [];
  for await (const { id, title } of client.items('GET /api/workflows')) if (title === name) paths.push(id);
  if (paths.length === 1) return paths[0] as string;
  throw new Error(
    paths.length === 0
      ? `You have no workflow with the title ${JSON.stringify(name)}`
      : `Several of your workflows have the title ${JSON.stringify(name)}; name one by its id: ${paths.join(', ')}`,
  );
}

/** Returns the id of an agent, given as the id itself or as its name. */
export async function agentNamed(client: PerduraClient, name: string): Promise<string> {
  if (isId(name)) return name;
  for await (const agent of client.items('GET /api/agents')) if (agent.name === name) return agent.id;
  throw new Error(`There is no agent with the name ${JSON.stringify(name)}; perdura agents ls lists them`);
}
