import { CHILDREN, coverageFolder, writeCoverage } from './folder.ts';
import { openSession, takeCoverage } from './session.ts';

const folder = coverageFolder();
const session = folder ? openSession() : null;

/** Measures what the process of Vitest itself executes: it makes the databases that test files copy. */
export default function setup(): () => void {
  return () => {
    if (folder && session) writeCoverage(folder, CHILDREN, { result: takeCoverage(session, folder) });
  };
}
