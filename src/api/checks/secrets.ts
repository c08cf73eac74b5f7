import type { FieldError } from '../../domain/errors.ts';

/** Returns a warning for each sealed value that a change clears. */
export const toClearedWarnings = (paths: readonly string[]): FieldError[] =>
  paths.map((path) => ({
    path: `connection_config.${path}`,
    message: 'This secret was cleared because its destination changed or another user changed it; send its value again',
  }));
