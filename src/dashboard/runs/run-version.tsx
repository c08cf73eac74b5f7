import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { versions } from '../../contracts/versions.ts';
import { useRead } from '../api/queries.ts';

const MOST_VERSIONS = 100;

interface Versioned {
  workflow_id: string;
  definition_hash: string;
}

/** Shows the recorded version of a workflow that a run or an evaluation used, or else the hash of its definition. */
export function RunVersion({ task: { workflow_id, definition_hash } }: { task: Versioned }) {
  const { data } = useRead(versions.list, { params: { id: workflow_id }, query: { limit: MOST_VERSIONS } });
  const number = data?.items.find((version) => version.definition_hash === definition_hash)?.number;
  if (number === undefined) return <span className="mono">{definition_hash.slice(0, 8)}</span>;
  return (
    <Anchor component={Link} to={`/workflows/${workflow_id}?tab=versions&version=${number}`} inherit>
      Version {number}
    </Anchor>
  );
}
