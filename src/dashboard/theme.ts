import { type CSSVariablesResolver, createTheme } from '@mantine/core';
import { colors, primaryShade } from './ui/colors.ts';
import { SteadyButton } from './ui/steady-button.tsx';

/** Text runs in the direction of what is typed. The prop `dir` would set that of the box around the input. */
const OWN_DIRECTION = { input: { dir: 'auto' } };

export const theme = createTheme({
  colors,
  primaryColor: 'accent',
  primaryShade,
  defaultRadius: 'var(--radius-s)',
  focusRing: 'auto',
  respectReducedMotion: true,
  fontFamily: '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '650',
    sizes: { h1: { fontSize: '1.375rem' }, h2: { fontSize: '1rem' }, h3: { fontSize: '0.875rem' } },
  },
  components: {
    Button: { defaultProps: { size: 'xs', component: SteadyButton } },
    Anchor: { defaultProps: { inherit: true } },
    Text: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm', attributes: OWN_DIRECTION } },
    Textarea: { defaultProps: { attributes: OWN_DIRECTION } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: 'sm', highlightOnHover: true } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

const SHARED = {
  '--mantine-color-body': 'var(--surface)',
  '--mantine-color-text': 'var(--ink)',
  '--mantine-color-dimmed': 'var(--ink-dim)',
  '--mantine-color-placeholder': 'var(--ink-dim)',
  '--mantine-color-error': 'var(--bad)',
  '--mantine-color-anchor': 'var(--accent)',
  '--mantine-color-default': 'var(--surface-raised)',
  '--mantine-color-default-hover': 'var(--surface-hover)',
  '--mantine-color-default-color': 'var(--ink)',
  '--mantine-color-default-border': 'var(--line-strong)',
};

/** Replaces Mantine's own colours with the tokens. */
export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: SHARED, dark: SHARED });
