import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Endpoint } from '../../../src/contracts/endpoint.ts';

const CONTRACTS = resolve(import.meta.dirname, '../../../src/contracts');

/** Lists every endpoint that a contract declares, however deep it is in its exports. */
function endpointsIn(value: unknown): Endpoint[] {
  if (typeof value !== 'object' || value === null || '_zod' in value) return [];
  if ('operation' in value && 'path' in value) return [value as Endpoint];
  return Object.values(value).flatMap(endpointsIn);
}

/** Lists the endpoints of all contracts. */
export async function declaredEndpoints(): Promise<Endpoint[]> {
  const files = globSync('*.ts', { cwd: CONTRACTS });
  const modules = await Promise.all(files.map((file) => import(resolve(CONTRACTS, file)) as Promise<object>));
  return [...new Set(modules.flatMap((module) => endpointsIn({ ...module })))];
}
