import { z } from 'zod';

// The content security policy forbids eval, and zod would try it out when the first schema is made; so this comes before all that makes one.
z.config({ jitless: true });

void import('./start.tsx');
