import { z } from 'zod';
import { endpoint } from './endpoint.ts';

const Me = z
  .object({
    id: z.string().meta({ description: '`provider:subject`: how `created_by` and `ADMIN_SUBJECTS` name people' }),
    provider: z.string().meta({ description: 'The identity provider that vouches for the access token' }),
    subject: z.string().meta({ description: 'The id the provider has for the person; it stays the same if the login changes' }),
    login: z.string(),
    is_admin: z.boolean().meta({ description: 'Whether `ADMIN_SUBJECTS` names them' }),
  })
  .meta({
    id: 'Me',
    example: { id: 'github:583231', provider: 'github', subject: '583231', login: 'octocat', is_admin: false },
  });

export const me = {
  get: endpoint('GET /api/me', {
    operation: 'get_me',
    tag: 'Identity',
    summary: 'Whose access token this is',
    description: 'The person that the identity provider vouches for. Every request with this access token acts in their name.',
    reply: Me,
  }),
};
