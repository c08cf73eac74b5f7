import { z } from 'zod';
import { RoleName, ScopeName } from './access.ts';
import { Id, toPatchSchema } from './common.ts';
import { endpoint } from './endpoint.ts';

const Me = z
  .object({
    id: z.string().meta({ description: '`provider:subject`: how `created_by` and `ADMIN_SUBJECTS` name people' }),
    provider: z.string().meta({ description: 'The identity provider that vouches for the access token' }),
    subject: z.string().meta({ description: 'The id the provider has for the person; it stays the same if the login changes' }),
    login: z.string(),
    is_admin: z.boolean().meta({ description: 'Whether the role is administrator' }),
    role: RoleName,
    scopes: z.array(ScopeName).meta({ description: 'What this access token may do' }),
    service_key_id: Id.nullable().meta({
      description: 'The service key that this access token is; null: the person’s own access token',
    }),
  })
  .meta({
    id: 'Me',
    example: {
      id: 'github:583231',
      provider: 'github',
      subject: '583231',
      login: 'octocat',
      is_admin: false,
      role: 'editor',
      scopes: ['read', 'run', 'write', 'keys'],
      service_key_id: null,
    },
  });

const MOST_VIEWS = 100;
const MOST_FILTERS = 20;

const SavedView = z
  .object({
    screen: z.enum(['tasks']).meta({ description: 'The list that it is a view of' }),
    name: z.string().min(1).max(100),
    query: z
      .record(z.string().max(100), z.string().max(500))
      .refine((query) => Object.keys(query).length <= MOST_FILTERS, { message: `A view may have ${MOST_FILTERS} filters` })
      .meta({ description: 'The filters and the order, as in the URL of the list' }),
  })
  .meta({ id: 'SavedView', example: { screen: 'tasks', name: 'Failed today', query: { status: 'failed', hours: '24' } } });
export type SavedView = z.output<typeof SavedView>;

const PersonSettings = z
  .object({ views: z.array(SavedView).max(MOST_VIEWS).meta({ description: 'Saved views of lists, in the order shown' }) })
  .meta({ id: 'PersonSettings' });
export type PersonSettings = z.output<typeof PersonSettings>;

const PersonSettingsUpdate = toPatchSchema(PersonSettings).meta({ id: 'PersonSettingsUpdate', example: { views: [] } });

export const me = {
  settings: endpoint('GET /api/me/settings', {
    operation: 'get_my_settings',
    tag: 'Identity',
    summary: "The caller's own settings",
    reply: PersonSettings,
  }),
  changeSettings: endpoint('PUT /api/me/settings', {
    operation: 'update_my_settings',
    tag: 'Identity',
    summary: "Change the caller's own settings",
    description: 'A field left out is unchanged; `views` replaces all saved views.',
    body: PersonSettingsUpdate,
    reply: PersonSettings,
    refuses: [412],
  }),
  get: endpoint('GET /api/me', {
    operation: 'get_me',
    tag: 'Identity',
    summary: 'Whose access token this is',
    description: 'The person that the identity provider vouches for. Every request with this access token acts in their name.',
    reply: Me,
  }),
};
