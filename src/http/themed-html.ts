import { type KeptAnswer, keptAnswer } from './public-routes.ts'

const THEMES = ['light', 'dark'] as const
const HTML = '<html lang="en">'

/** An HTML page by theme, in memory. The browser's cookie names the theme; without one the page follows the system. */
export class ThemedHtml {
  readonly #byTheme: ReadonlyMap<string, KeptAnswer>

  constructor(html: string) {
    const themed = THEMES.map((theme): [string, string] => [
      theme,
      html.replace(HTML, `${HTML.slice(0, -1)} data-theme="${theme}">`),
    ])
    this.#byTheme = new Map(
      [['', html] as const, ...themed].map(([theme, text]) => [
        theme,
        keptAnswer(Buffer.from(text), 'text/html; charset=utf-8'),
      ]),
    )
  }

  /** The page in the theme that the header `cookie` names. Caches keep one for each cookie: `vary: cookie`. */
  of(cookies = ''): KeptAnswer {
    const [, theme = ''] = /(?:^|;\s*)theme=(\w+)(?:;|$)/.exec(cookies) ?? []
    const page = this.#byTheme.get(theme) ?? this.#byTheme.get('')
    if (page === undefined) throw new TypeError('a page has a variant for the theme of the system')
    return page
  }
}
