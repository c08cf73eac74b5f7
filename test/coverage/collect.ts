import { afterAll, expect } from 'vitest';
import { coverageFolder, writeCoverage } from './folder.ts';
import { openSession, takeCoverage } from './session.ts';
import { recordStatements } from './statements.ts';

// The processes of Vitest are killed at the end, before they could write what they executed: each test file writes its part.
const folder = coverageFolder();
if (folder) collectFor(folder);

function collectFor(folder: string): void {
  const listStatements = recordStatements();
  const session = openSession();
  afterAll(() => {
    const statements = listStatements();
    writeCoverage(folder, 'tests', { test: expect.getState().testPath, statements, result: takeCoverage(session, folder) });
  });
}
