/** The picture at the top of README.md, by theme: what `npm run picture` writes and README names. */
export const README_PICTURES = {
  width: 1440,
  height: 900,
  paths: { light: 'docs/page-light.png', dark: 'docs/page-dark.png' },
} as const
