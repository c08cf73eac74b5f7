import { z } from 'zod';

export const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((metadata) => Object.keys(metadata).length <= 16, 'takes at most 16 entries')
  .meta({ description: 'Up to 16 entries that you choose' });
