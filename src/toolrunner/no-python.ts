import { createFailedAnswer } from './answer.ts';
import { NoInterpreter } from './interpreter.ts';
import type { PythonToolRunner } from './python-tool-runner.ts';

/** Creates the runner of a machine without Python: it refuses everything that needs Python, with this reason. */
export function runnerWithoutPython({ message: reason }: NoInterpreter): PythonToolRunner {
  const refuse = async () => {
    throw new NoInterpreter(reason);
  };
  return {
    isolation: 'refused',
    isolation_reason: reason,
    interpreter: null,
    inspect: async () => ({
      valid: false,
      error: reason,
      inferred_schema: { type: 'object', properties: {}, required: [] },
      description: '',
      env: {},
      effect: null,
      network: null,
    }),
    run: async () => createFailedAnswer(reason),
    preload: async () => {},
    pathRefusal: async () => reason,
    startConfined: refuse,
    close: async () => {},
  };
}
