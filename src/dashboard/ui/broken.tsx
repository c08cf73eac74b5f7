import { Alert, Button, Stack, Text } from '@mantine/core';
import { Component, type ReactNode } from 'react';

/** Shows the error of a screen that failed to render; the menu stays. */
export class Broken extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Alert color="red" variant="outline" title="This screen failed" role="alert">
        <Stack gap="xs" align="flex-start">
          <Text>{error.message}</Text>
          <Text>Reload the page. If it fails again, report this message as a bug.</Text>
          <Button variant="default" onClick={() => location.reload()}>
            Reload
          </Button>
        </Stack>
      </Alert>
    );
  }
}
