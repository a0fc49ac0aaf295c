import type { ChainNode } from './node.ts'

/** The answer of a node to a question. */
export interface NodeAnswer<Answer> {
  readonly node: ChainNode
  readonly answer: Answer
}

/** Whether nodes agree, and on which answer. */
type Agreement<Answer> =
  | { readonly kind: 'agreed'; readonly nodes: readonly ChainNode[]; readonly answer: Answer }
  /** Nodes contradict each other, and no answer, or more than one, has a quorum. */
  | { readonly kind: 'disagreed' }
  /** Too few nodes have answered. */
  | { readonly kind: 'tooFew' }

/** Asks all nodes at once. A node that fails is left out, and reported. */
export async function askEach<Answer>(
  nodes: readonly ChainNode[],
  question: (node: ChainNode) => Promise<Answer>,
  onFailure: (node: ChainNode, cause: unknown) => void,
): Promise<readonly NodeAnswer<Answer>[]> {
  const answers = await Promise.all(
    nodes.map(async (node) => {
      try {
        return [{ node, answer: await question(node) }]
      } catch (cause) {
        onFailure(node, cause)
        return []
      }
    }),
  )
  return answers.flat()
}

/** The one answer that at least a quorum of nodes gives. */
export function agreementOf<Answer>(
  answers: readonly NodeAnswer<Answer>[],
  quorum: number,
): Agreement<Answer> {
  const groups = Map.groupBy(answers, ({ answer }) => textOf(answer))
  const [group, other] = [...groups.values()].filter(({ length }) => length >= quorum)
  const first = group?.[0]
  if (group !== undefined && first !== undefined && other === undefined) {
    return { kind: 'agreed', nodes: group.map(({ node }) => node), answer: first.answer }
  }
  return { kind: groups.size > 1 ? 'disagreed' : 'tooFew' }
}

/** The highest number that a quorum has reached, each node by its own word. */
export function reachedByQuorum(numbers: readonly number[], quorum: number): number | null {
  return numbers.toSorted((one, other) => other - one)[quorum - 1] ?? null
}

function textOf(answer: unknown): string {
  return JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
}
