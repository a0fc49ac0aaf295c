/**
 * What the format of a call means for its hold, its deadlines and the credit that may pay for it: plain
 * data, one value a format.
 */
export interface FormatRules {
  /** What sizes the hold: the tokens of the call, or a figure for each image that it asks for. */
  readonly heldBy: 'tokens' | 'images'
  readonly prompt: PromptRule
  readonly output: OutputRule
  /**
   * Whether free credit may pay for its calls, and whether a call that free credit alone pays for may run
   * on less than its whole hold.
   */
  readonly freeCredit: 'never' | 'wholeHold' | 'partOfHold'
  readonly deadline: DeadlineRule
}

/** How the prompt of a call is counted. */
interface PromptRule {
  /** Whether a chat template, and words on how to call tools, stand around the text. */
  readonly hasTemplate: boolean
  /** How many context windows its text may fill; `perCompletion`: there may be several prompts. */
  readonly windows: 'one' | 'perCompletion' | 'any'
}

/** How the output of a call is bounded. */
type OutputRule =
  /** There is none under a cap. */
  | { readonly cap: 'none' }
  /** Where the client sets no cap, one is sent, which may be lowered so that the hold fits. */
  | { readonly cap: 'ours' }
  /** The client's own cap, else the model's maximum; never lowered. */
  | {
      readonly cap: 'clients'
      /** The field that the client sets it in. */
      readonly param: string
      /** What a cap is held up to. */
      readonly heldUpTo: 'modelMaximum' | 'contextWindow'
    }

/** How long an answer may take, beside the silence that ends any. */
interface DeadlineRule {
  /** The setting that bounds a whole answer. */
  readonly total: 'totalTimeoutMs' | 'imageTimeoutMs'
  /** Whether it bounds a stream too. */
  readonly boundsStreams: boolean
}
