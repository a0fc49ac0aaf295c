import { StoreUnavailable } from '../../store/store-failure.ts'
import { Alerts } from '../alerts.ts'

type Looked = Parameters<Alerts['look']>[0]

/**
 * Has so many processes look that have just started. On a busy machine one may have the rows for longer than another waits
 * for them: that one looks again, as it does on its next pass.
 */
export async function lookAtOnce(
  processes: number,
  input: ConstructorParameters<typeof Alerts>[0],
  looked: Looked,
): Promise<void> {
  const lookUntilTaken = async (alerts: Alerts): Promise<void> => {
    try {
      await alerts.look(looked)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      await lookUntilTaken(alerts)
    }
  }
  await Promise.all(Array.from({ length: processes }, () => lookUntilTaken(new Alerts(input))))
}
