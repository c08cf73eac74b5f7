import { Page } from './page.tsx';
import { Empty } from './states.tsx';

export function Nowhere() {
  return (
    <Page title="Page not found">
      <Empty>No screen has this address. Choose one from the menu.</Empty>
    </Page>
  );
}
