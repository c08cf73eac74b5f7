import { useQuery } from '@tanstack/react-query';
import type { ApiProblem } from '../api/call.ts';
import { readPage } from './pages.ts';

/** Reads a page of the docs once. */
export const useDocsPage = (name: string) =>
  useQuery<string, ApiProblem>({ queryKey: ['docs', name], queryFn: () => readPage(name), staleTime: Infinity });
