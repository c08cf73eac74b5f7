import { z } from 'zod';

// The content security policy forbids eval, and zod would try it out when the first schema is made.
z.config({ jitless: true });
