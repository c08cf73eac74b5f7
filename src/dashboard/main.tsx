import { z } from 'zod';

// The content security policy forbids eval. Zod tests for eval when the first schema is created, so this must run earlier.
z.config({ jitless: true });

void import('./start.tsx');
