import type { FastifyRequest } from 'fastify';
import { AppError } from '../../domain/errors.ts';

/**
 * Refuses requests of other sites' pages, with which a browser also sends its cookies. `Sec-Fetch-Site` is `none` if a person
 * opened the address; a browser without that header sends `Origin` with everything except a plain GET.
 */
export function refuseOtherOrigins({ method, headers, host }: FastifyRequest, public_url: string | null): void {
  const { 'sec-fetch-site': site, origin } = headers;
  const reads = method === 'GET' || method === 'HEAD';
  if (site !== undefined ? site === 'same-origin' || (reads && site === 'none') : origin === undefined ? reads : isOwn(origin))
    return;
  throw new AppError(
    'forbidden',
    'Only pages of this service may use the sign-in of the dashboard; other programs send an access token or a service key',
    { code: 'foreign_origin' },
  );

  function isOwn(candidate: string): boolean {
    if (!URL.canParse(candidate)) return false;
    return new URL(candidate).host === host || (public_url !== null && new URL(candidate).origin === new URL(public_url).origin);
  }
}
