import { z } from 'zod';

const CALLER_ROLES = ['viewer', 'editor', 'administrator'] as const;
export type CallerRole = (typeof CALLER_ROLES)[number];

/** What an operation needs its caller to be allowed. */
export const SCOPES = ['read', 'run', 'write', 'keys', 'audit'] as const;
export type Scope = (typeof SCOPES)[number];

export const RoleName = z
  .enum(CALLER_ROLES)
  .meta({ description: 'viewer: reads; editor: also runs and changes; administrator: also what ADMIN_SUBJECTS may' });

export const ScopeName = z.enum(SCOPES).meta({
  description:
    'read: read and search; run: start, steer and halt runs, chat, test; write: create, change and delete; ' +
    'keys: make and delete service keys; audit: read the audit',
});
