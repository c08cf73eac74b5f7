import type { MantineColorsTuple } from '@mantine/core';

/** The colour of what can be done: links, buttons, what is selected. */
const accent: MantineColorsTuple = [
  ...(['#f0f1fe', '#e1e3fc', '#c6caf9', '#a9aff6', '#868ef0', '#6d75e8'] as const),
  ...(['#5a60dd', '#4549bf', '#393d9e', '#2d307b'] as const),
];

/** The colour of what stops or deletes something. White can be read on it, which Mantine's own red does not allow. */
const red: MantineColorsTuple = [
  ...(['#fff5f5', '#ffe3e3', '#ffc9c9', '#ffa8a8', '#ff8787', '#ff6b6b'] as const),
  ...(['#d4343f', '#b3202c', '#981a25', '#7d151e'] as const),
];

const gray: MantineColorsTuple = [
  ...(['#f7f8fa', '#f0f1f5', '#e4e6ec', '#d6d9e2', '#c3c7d2', '#9aa0af'] as const),
  ...(['#747b8b', '#565d6e', '#3a4050', '#191c24'] as const),
];

const dark: MantineColorsTuple = [
  ...(['#e6e8ee', '#a9afbd', '#8b92a1', '#5d6473', '#3d4350', '#2a2e38'] as const),
  ...(['#20242d', '#181b22', '#12141a', '#0c0e12'] as const),
];

export const colors = { accent, red, gray, dark };

/** The place, in each theme, of the shade that fills buttons. */
export const primaryShade = { light: 7, dark: 6 } as const;
