/** The log of a gateway, line by line. */
export class MemoryLog {
  /** Every line so far. */
  readonly lines: string[] = []
  #waiting: { readonly text: string; readonly seen: (line: string) => void }[] = []

  /** Takes whole lines. */
  write(lines: string): void {
    for (const line of lines.trimEnd().split('\n')) {
      this.lines.push(line)
      this.#waiting = this.#waiting.filter(({ text, seen }) => {
        if (line.includes(text)) seen(line)
        return !line.includes(text)
      })
    }
  }

  /** Resolves with the first line that contains a text, among present and later ones. */
  async logged(text: string): Promise<string> {
    const line = this.lines.find((earlier) => earlier.includes(text))
    return line ?? new Promise((seen) => this.#waiting.push({ text, seen }))
  }
}
