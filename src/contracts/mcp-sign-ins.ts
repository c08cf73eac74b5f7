import { z } from 'zod';
import { Id, Timestamp } from './common.ts';

export const McpSignIn = z
  .object({
    signed_in_at: Timestamp,
    expires_at: Timestamp.nullable().meta({ description: 'When the access token expires; null: the server did not say' }),
    renews: z.boolean().meta({ description: 'Whether it is renewed before it expires' }),
  })
  .meta({ id: 'McpSignIn' });

export const McpSignInBegun = z
  .object({
    authorization_url: z.string(),
    origins: z
      .object({
        server: z.string(),
        authorization: z.string().meta({ description: 'Where the person consents' }),
        token: z.string().meta({ description: 'Which server gets the code and issues the tokens' }),
      })
      .meta({
        id: 'McpSignInOrigins',
        description: 'Who takes part. If they differ, show them to the person before the browser opens `authorization_url`',
      }),
    redirect_url: z.string().meta({ description: 'Where the browser is sent back to: an address of this server alone' }),
    expires_at: Timestamp.meta({ description: 'Until when the sign-in can be finished' }),
  })
  .meta({ id: 'McpSignInBegun' });
export type McpSignInBegun = z.output<typeof McpSignInBegun>;

export const McpSignInFinished = McpSignIn.extend({ server_id: Id }).meta({ id: 'McpSignInFinished' });
export type McpSignInFinished = z.output<typeof McpSignInFinished>;

export const McpSignInAnswer = z
  .object({
    server_id: Id.optional().meta({
      description:
        'The server in the address of the answer, `/api/mcps/{id}/sign-in/callback`. An answer for another server is refused',
    }),
    state: z.string().min(1).max(200),
    code: z.string().min(1).max(8_192),
    iss: z.string().max(2_000).optional().meta({ description: 'The issuer, if the server sent it' }),
  })
  .meta({
    id: 'McpSignInAnswer',
    example: {
      server_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
      state: 'as-the-browser-got-it',
      code: 'as-the-browser-got-it',
    },
  });
export type McpSignInAnswer = z.output<typeof McpSignInAnswer>;
