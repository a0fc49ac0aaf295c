interface Code {
  readonly amountMicros: number
  readonly untilMs: number
  readonly isRevoked: boolean
  /** The account that has redeemed it; null: none has. */
  redeemedBy: string | null
}

/** The answers that a ledger must give about credit codes, computed in another way; see `Model`. */
export class CodeModel {
  readonly #codes = new Map<string, Code>()

  make([name = '', value, ...words]: readonly string[]): null {
    const until = words[0] === 'until' ? Math.round(Number(words[1]) * 1_000) : Infinity
    this.#codes.set(name, {
      amountMicros: Number(value),
      untilMs: until,
      isRevoked: words.includes('revoked'),
      redeemedBy: null,
    })
    return null
  }

  /** By position: the words of the action, and the moment. */
  redeem([name = '', account = '']: readonly string[], nowMs: number): string {
    const code = this.#codes.get(name)
    if (code === undefined) return 'unknownCode'
    const credited = `activation ${code.amountMicros} code_${name}`
    if (code.redeemedBy !== null) return code.redeemedBy === account ? `exists ${credited}` : 'used'
    if (code.isRevoked) return 'revoked'
    if (code.untilMs <= nowMs) return 'expired'
    code.redeemedBy = account
    return `redeemed ${credited}`
  }

  /** The credit of all codes that an account has redeemed. */
  added(account: string): number {
    const redeemed = [...this.#codes.values()].filter(({ redeemedBy }) => redeemedBy === account)
    return redeemed.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
  }
}
