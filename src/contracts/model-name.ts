import { z } from 'zod';

/** The name of a model, as its endpoint knows it. What is stored may be older than the limit. */
export const ModelName = z.string().min(1).max(500).nullable().default(null);
export const StoredModel = z.string().nullable();
