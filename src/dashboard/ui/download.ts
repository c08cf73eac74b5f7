import { useMutation } from '@tanstack/react-query';
import type { AnyEndpoint, Input, Problem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';

interface Download {
  name: string;
  endpoint: AnyEndpoint;
  input?: Input<AnyEndpoint>;
}

/** Reads a JSON document from the service and hands it to the browser as a file. */
export function useDownload() {
  const { call } = useClient();
  return useMutation<void, Problem, Download>({
    mutationFn: async ({ name, endpoint, input }) => save(name, await call(endpoint, input)),
  });
}

function save(name: string, value: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
