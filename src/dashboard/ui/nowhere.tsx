import { Page } from './page.tsx';
import { Empty } from './states.tsx';

export function Nowhere() {
  return (
    <Page title="There is no such page">
      <Empty>This address leads nowhere. Choose a screen from the menu.</Empty>
    </Page>
  );
}
