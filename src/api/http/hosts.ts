import type { FastifyInstance } from 'fastify';
import { type HostRule, originRule } from '../../domain/hosts.ts';
import type { AllowsOrigin } from './origins.ts';
import { sendProblem } from './problems.ts';

interface Names {
  answers_to: HostRule | null;
  /** Returns true for the page of another site that may use the service. */
  allowsOrigin: AllowsOrigin;
}

/**
 * Refuses requests for another host (421) and requests from another site's page (403). Otherwise a page whose host name resolves
 * to this machine (DNS rebinding) would count as same-origin in the browser.
 */
export function refuseOtherHosts(http: FastifyInstance, { answers_to, allowsOrigin }: Names): void {
  if (!answers_to) return;
  const ownOrigin = originRule(answers_to);
  http.addHook('onRequest', async (request, reply) => {
    const { host, origin } = request.headers;
    if (!answers_to(host)) {
      const detail = `This service does not answer to the host ${host}; ALLOWED_HOSTS lists further names`;
      return sendProblem(request, reply, { status: 421, code: 'foreign_host', detail });
    }
    if (ownOrigin(origin) || (await allowsOrigin(request))) return;
    const detail = `Pages of ${origin} may not use this service; CORS_ORIGINS lists those that may, and tokens of threads name theirs`;
    return sendProblem(request, reply, { status: 403, code: 'foreign_origin', detail });
  });
}
