/** A request that the simulator refuses by itself, before anything runs. */
export class Refusal extends Error {
  readonly httpStatus: number

  constructor(httpStatus: number, message: string) {
    super(message)
    this.name = 'Refusal'
    this.httpStatus = httpStatus
  }
}

/** A 400 for this reason. */
export function badRequest(message: string): Refusal {
  return new Refusal(400, message)
}
