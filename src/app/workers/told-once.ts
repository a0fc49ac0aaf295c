/** Tells what has changed since it was told last, and nothing else. */
export class ToldOnce<News> {
  readonly #tell: (news: News) => void
  #told = ''

  /** `first`: what is known without being told. */
  constructor({ tell, first }: { readonly tell: (news: News) => void; readonly first: News }) {
    this.#tell = tell
    this.#told = JSON.stringify(first)
  }

  /** Tells it, unless it is what was told last. */
  say(news: News): void {
    const text = JSON.stringify(news)
    if (text === this.#told) return
    this.#told = text
    this.#tell(news)
  }
}
