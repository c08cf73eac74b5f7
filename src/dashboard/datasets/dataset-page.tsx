import { Stack, Tabs, Text } from '@mantine/core';
import { useParams } from 'react-router';
import { type Dataset, datasets } from '../../contracts/datasets.ts';
import { useRead } from '../api/queries.ts';
import { DATASETS } from '../resources/catalog-runs.tsx';
import { EditForm } from '../resources/edit.tsx';
import { Remove } from '../resources/pages.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { Page } from '../ui/page.tsx';
import { Facts } from '../ui/show.tsx';
import { Loaded } from '../ui/states.tsx';
import { useTab } from '../ui/tabs.ts';
import { When } from '../ui/time.tsx';
import { EvaluationList } from './evaluations.tsx';
import { Items } from './items.tsx';

export default function DatasetPage() {
  const { id = '' } = useParams();
  const query = useRead(datasets.get, { params: { id } });
  const dataset = query.data;
  return (
    <Page
      title={dataset?.name ?? 'Dataset'}
      parent={{ to: '/datasets', title: 'Datasets' }}
      actions={dataset && <Remove resource={DATASETS} record={dataset} to="/datasets" />}
    >
      <Loaded query={query} what="Loading the dataset">
        {(data) => <DatasetView key={data.id} dataset={data} />}
      </Loaded>
    </Page>
  );
}

function DatasetView({ dataset }: { dataset: Dataset }) {
  const tab = useTab('tab', ['items', 'evaluations', 'settings']);
  return (
    <Stack>
      {dataset.description && <Text c="dimmed">{dataset.description}</Text>}
      <Facts
        of={{
          Items: dataset.item_count,
          Changed: <When at={dataset.updated_at} />,
          ID: <CopyableId>{dataset.id}</CopyableId>,
        }}
      />
      <Tabs {...tab} keepMounted={false}>
        <Tabs.List aria-label="Views of the dataset">
          <Tabs.Tab value="items">Items</Tabs.Tab>
          <Tabs.Tab value="evaluations">Evaluations</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="items" pt="md">
          <Items dataset_id={dataset.id} />
        </Tabs.Panel>
        <Tabs.Panel value="evaluations" pt="md">
          <EvaluationList dataset={dataset} />
        </Tabs.Panel>
        <Tabs.Panel value="settings" pt="md">
          <EditForm resource={DATASETS} id={dataset.id} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
