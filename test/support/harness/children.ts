import type { ChildProcess } from 'node:child_process';
import { killMeasured } from '../../coverage/folder.ts';

const living = new Set<ChildProcess>();

/** Remembers a child until it ends. */
export function note(child: ChildProcess): void {
  living.add(child);
  child.once('exit', () => living.delete(child));
}

/** Kills the children that have not ended. */
export function endChildren(): void {
  for (const child of living) killMeasured(child);
}
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});
