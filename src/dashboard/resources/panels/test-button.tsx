import { Button } from '@mantine/core';
import type { Scope } from '../../../domain/access.ts';
import type { ApiProblem } from '../../api/call.ts';
import { TestVerdict } from '../../ui/show.tsx';
import { FailureBelow } from '../../ui/states.tsx';

interface Tested {
  success: boolean;
  error: string | null;
}

interface TestButtonProps<T extends Tested> {
  test: {
    data: T | undefined;
    error: ApiProblem | null;
    isPending: boolean;
    needs: Scope | null | undefined;
    mutate(input: { params: { id: string } }): void;
  };
  id: string;
  label: string;
  /** Returns the message for a test that succeeded. */
  yes(tested: T): string;
}

/** Tests the stored record and shows the result. It belongs in a group of buttons. */
export function TestButton<T extends Tested>({ test, id, label, yes }: TestButtonProps<T>) {
  return (
    <>
      <Button variant="default" loading={test.isPending} data-needs={test.needs} onClick={() => test.mutate({ params: { id } })}>
        {label}
      </Button>
      {test.data && <TestVerdict good={test.data.success} yes={yes(test.data)} no={test.data.error} />}
      <FailureBelow problem={test.error} />
    </>
  );
}
