import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';
import { SteadyButton } from './ui/steady-button.tsx';

/** The colour of what can be done: links, buttons, what is selected. */
const accent: MantineColorsTuple = [
  ...(['#f0f1fe', '#e1e3fc', '#c6caf9', '#a9aff6', '#868ef0', '#6d75e8'] as const),
  ...(['#5a60dd', '#4549bf', '#393d9e', '#2d307b'] as const),
];

const gray: MantineColorsTuple = [
  ...(['#f7f8fa', '#f0f1f5', '#e4e6ec', '#d6d9e2', '#c3c7d2', '#9aa0af'] as const),
  ...(['#747b8b', '#565d6e', '#3a4050', '#191c24'] as const),
];

const dark: MantineColorsTuple = [
  ...(['#e6e8ee', '#a9afbd', '#8b92a1', '#5d6473', '#3d4350', '#2a2e38'] as const),
  ...(['#20242d', '#181b22', '#12141a', '#0c0e12'] as const),
];

/** Text runs in the direction of what is typed. The prop `dir` would set that of the box around the input. */
const OWN_DIRECTION = { input: { dir: 'auto' } };

export const theme = createTheme({
  colors: { accent, gray, dark },
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 6 },
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
