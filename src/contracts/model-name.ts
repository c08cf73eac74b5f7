import { z } from 'zod';

/** The name of a model, as its endpoint knows it. */
export const ModelName = z.string().min(1).max(500).nullable().default(null);
