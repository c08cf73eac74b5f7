import { type CSSVariablesResolver, createTheme } from '@mantine/core';
import { SteadyButton } from './ui/steady-button.tsx';

export const theme = createTheme({
  primaryColor: 'blue',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'sm',
  focusRing: 'auto',
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.3rem' }, h2: { fontSize: '1.02rem' }, h3: { fontSize: '0.9rem' } } },
  components: {
    Button: { defaultProps: { size: 'xs', component: SteadyButton } },
    Anchor: { defaultProps: { inherit: true } },
    Text: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: 'sm', highlightOnHover: true } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/** Replaces Mantine's default shades of dimmed text, errors and placeholders, which have too little contrast for WCAG AA. */
export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray![7],
    '--mantine-color-placeholder': colors.gray![7],
    '--mantine-color-error': colors.red![9],
    '--mantine-color-anchor': colors.blue![8],
  },
  dark: {
    '--mantine-color-dimmed': colors.dark![1],
    '--mantine-color-placeholder': colors.dark![1],
    '--mantine-color-error': colors.red![4],
    '--mantine-color-anchor': colors.blue![3],
  },
});
