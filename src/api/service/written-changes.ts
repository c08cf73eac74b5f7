import type { FastifyRequest } from 'fastify';
import type { Endpoint } from '../../contracts/endpoint.ts';
import type { PlacedChange } from '../../events/bus.ts';

type Facts = Pick<Endpoint, 'access' | 'method' | 'path' | 'shared'>;

/**
 * Returns the change that a request has made; null if it failed or only read. Everybody learns of a change of a shared record, and
 * of any other only the person who made it.
 */
export function toChange(
  { access, method, path, shared = false }: Facts,
  { caller, params }: Pick<FastifyRequest, 'caller' | 'params'>,
  { status, made_id }: { status: number; made_id: string | null },
): PlacedChange | null {
  const [, door, kind = ''] = path.split('/');
  if (method === 'GET' || access === 'read' || access === null || door !== 'api' || status >= 400) return null;
  const [path_id] = Object.values(params as Record<string, string>);
  return { kind, id: path_id ?? made_id, owner: shared ? null : caller.key };
}
