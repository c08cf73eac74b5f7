import { Alert, Button, Stack, Text } from '@mantine/core';
import { Component, type ReactNode } from 'react';

/** A screen that breaks says so; the menu stays. */
export class Broken extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Alert color="red" variant="outline" title="This screen broke" role="alert">
        <Stack gap="xs" align="flex-start">
          <Text>{error.message}</Text>
          <Text>Load the page again. If it breaks again, the dashboard has a fault: please report it with this message.</Text>
          <Button variant="default" onClick={() => location.reload()}>
            Load again
          </Button>
        </Stack>
      </Alert>
    );
  }
}
