import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { WorldProvider } from './api/context.tsx';
import { sessionOf } from './api/session.ts';
import { App } from './app.tsx';
import { cssVariables, theme } from './theme.ts';

const session = sessionOf({ tab: sessionStorage, computer: localStorage });

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" />
      <WorldProvider session={session}>
        <BrowserRouter basename="/dashboard">
          <App />
        </BrowserRouter>
      </WorldProvider>
    </MantineProvider>
  </StrictMode>,
);
