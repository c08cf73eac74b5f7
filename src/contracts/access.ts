import { z } from 'zod';
import { CALLER_ROLES, SCOPES } from '../domain/access.ts';

export const RoleName = z
  .enum(CALLER_ROLES)
  .meta({ description: 'viewer: reads; editor: also runs and changes; administrator: also what ADMIN_SUBJECTS may' });

export const ScopeName = z.enum(SCOPES).meta({
  description:
    'read: read and search; run: start, steer and halt runs, chat, test; write: create, change and delete; ' +
    'keys: make and delete service keys; audit: read the audit',
});
