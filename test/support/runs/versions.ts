import type { TestInstallation } from '../installation.ts';

type Body = Record<string, any>;

/** The requests to the API in tests of versions, as Alice. */
export function versionsAt({ alice, prompt, ended }: TestInstallation) {
  const workflowOf = (id: string) => alice.ok(alice.get(`/api/workflows/${id}`));
  const version = (id: string, number: number, query = '') =>
    alice.ok(alice.get(`/api/workflows/${id}/versions/${number}${query}`));
  const list = async (id: string, query = '') => (await alice.ok(alice.get(`/api/workflows/${id}/versions${query}`))) as Body[];
  return {
    list,
    version,
    workflowOf,
    numbers: async (id: string) => (await list(id)).map(({ number, origin, runs, current }) => [number, origin, runs, current]),
    changed: async (id: string, number: number, against: number | 'current') =>
      (await version(id, number, `?against=${against}`)).changes as Body[],
    restore: (id: string, number: number, body: object = {}, headers?: Record<string, string>) =>
      alice.post(`/api/workflows/${id}/versions/${number}/restore`, body, headers),
    set: (path: string, body: object) => alice.ok(alice.put(`/api/${path}`, body)),
    make: async (path: string, body: object) => (await alice.ok(alice.post(`/api/${path}`, body), 201)).id as string,
    agentOf: async (id: string) => (await workflowOf(id)).agent_id as string,
    run: async (id: string, more: object = {}) => ended(await prompt(id, 'Do it.', more)),
  };
}
