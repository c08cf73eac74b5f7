import { Button, type ButtonProps } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { AnyEndpoint, ApiProblem, CallInput } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { FailureBelow } from './states.tsx';

interface DownloadProps extends Pick<ButtonProps, 'size' | 'variant'> {
  /** The name of the file. */
  name: string;
  endpoint: AnyEndpoint;
  input?: CallInput<AnyEndpoint>;
  children: string;
}

/** Downloads a JSON document from the service as a file. An error is shown below the surrounding buttons. */
export function DownloadButton({ name, endpoint, input, children, ...look }: DownloadProps) {
  const { call } = useClient();
  const download = useMutation<void, ApiProblem>({ mutationFn: async () => save(name, await call(endpoint, input)) });
  return (
    <>
      <Button {...look} loading={download.isPending} data-needs={endpoint.access} onClick={() => download.mutate()}>
        {children}
      </Button>
      <FailureBelow problem={download.error} />
    </>
  );
}

const save = (name: string, value: unknown) => saveText(name, JSON.stringify(value, null, 2), 'application/json');

/** Saves a text as a file of this browser's user. */
export const saveText = (name: string, text: string, type: string): void => saveBlob(name, new Blob([text], { type }));

/** Saves anything as a file of this browser's user. */
export function saveBlob(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
