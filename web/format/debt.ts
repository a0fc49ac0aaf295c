import type { OwnAccount } from '../api/answers.ts'

/** Says which requests of an account without paid credit are refused: free credit can pay for some of them. */
export function refusedWithoutCredit({ free }: OwnAccount['credit']): string {
  const requests = free.available > 0 ? 'Requests that need paid credit' : 'Requests'
  return `${requests} are refused until credit is added.`
}
