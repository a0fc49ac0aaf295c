import type { Payload } from './delivery.ts'
import { htmlErrorPage, leakyErrorBody, type Skin } from './error-bodies.ts'
import { DEFAULT_MARKER, type Fault, NO_FAULT } from './faults.ts'

/** What the fault answers in the answer's place; null where it leaves the answer be. */
export function wrongAnswer(
  fault: Fault,
  path: { readonly skin: Skin; readonly failsInside: boolean },
): { readonly httpStatus: number; readonly payload: Payload } | null {
  if (fault === NO_FAULT) return null
  const httpStatus = fault.status ?? 200
  if (fault.rawBody !== undefined) return { httpStatus, payload: wholeJson(fault.rawBody) }
  if (fault.answer === 'empty') return { httpStatus, payload: wholeJson('') }
  const isError =
    fault.answer === 'errorObject' || (fault.answer === 'failedAnswer' && !path.failsInside)
  if (fault.status === undefined && !isError) return null
  const named = fault.status ?? 502
  switch (fault.errorBody ?? 'json') {
    case 'empty':
      return { httpStatus, payload: wholeJson('') }
    case 'html': {
      const text = htmlErrorPage(named, fault.marker ?? DEFAULT_MARKER)
      return { httpStatus, payload: { kind: 'whole', text, contentType: 'text/html' } }
    }
    case 'skinless':
      return {
        httpStatus,
        payload: wholeJson(JSON.stringify(leakyErrorBody('chat', named, fault))),
      }
    case 'json':
      return {
        httpStatus,
        payload: wholeJson(JSON.stringify(leakyErrorBody(path.skin, named, fault))),
      }
  }
}

/** A whole body as the fault wants it: a stream has its own ways to be wrong. */
export function changedBody(text: string, fault: Fault): string {
  switch (fault.answer) {
    case 'malformedJson':
      return `${text.slice(0, -1)},,}`
    case 'truncatedJson':
      return text.slice(0, Math.ceil(text.length / 2))
    default:
      return text
  }
}

/** A JSON body, to be sent whole. */
export function wholeJson(text: string): Payload {
  return { kind: 'whole', text, contentType: 'application/json' }
}
