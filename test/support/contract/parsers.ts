import { readConfig } from '../../../src/main/config.ts';
import { createResources } from '../../../src/main/resources.ts';
import { openParsers } from '../../../src/main/wiring/index.ts';
import { pageReader, schemaJudge } from '../../../src/main/wiring/parsers.ts';

/** Creates the parser pool as in API and worker, for tests of parts that need it. */
export function testParsers() {
  const resources = createResources((error) => console.error(error));
  const config = readConfig({});
  const { parsers, judge } = openParsers(config, resources);
  return {
    ...{ parsers, judge },
    readPage: pageReader({ parsers, setting: { config } as never }),
    schemaFaults: schemaJudge(parsers, config),
    close: () => resources.close(),
  };
}
