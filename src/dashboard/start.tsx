import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/spotlight/styles.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter } from 'react-router';
import { RouterProvider } from 'react-router/dom';
import { WorldProvider } from './api/context.tsx';
import { askIssuer, browserSession } from './api/session.ts';
import { App } from './app.tsx';
import { cssVariables, theme } from './theme.ts';

const session = browserSession({ tab: sessionStorage, computer: localStorage }, await askIssuer());

// Only a data router can block a navigation, which half-filled forms need.
const router = createBrowserRouter([{ path: '*', element: <App /> }], { basename: '/dashboard' });

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" />
      <WorldProvider session={session}>
        <RouterProvider router={router} />
      </WorldProvider>
    </MantineProvider>
  </StrictMode>,
);
