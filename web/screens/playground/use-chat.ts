import { useEffect, useRef, useState } from 'react'
import { openAnswer } from '../../api/client.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { readAnswer } from './answer.ts'
import { type AskedModel, bodyOf } from './formats.ts'

/** Who says a message. */
export type Role = 'user' | 'assistant'

/** A message of the conversation. */
export interface Message {
  readonly id: number
  readonly role: Role
  readonly content: string
}

/** What is asked for beside the messages. */
export interface ChatSettings {
  readonly model: AskedModel
  /** Empty: none. */
  readonly system: string
  /** The most tokens of an answer; null: the model's own maximum. */
  readonly capTokens: number | null
  /** Null: the model's own. */
  readonly temperature: number | null
  readonly isStreamed: boolean
}

/** The latest request. */
export type Run =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly requestId: string | null; readonly reason: string }
  | { readonly kind: 'stopped'; readonly requestId: string | null }
  | { readonly kind: 'failed'; readonly requestId: string | null; readonly error: Error }

/** A conversation, in the memory of this page alone, and the request that continues it. */
export function useChat() {
  const account = useAccountId()
  const [messages, setMessages] = useState<readonly Message[]>([])
  const [run, setRun] = useState<Run>({ kind: 'none' })
  const nextId = useRef(1)
  const stopping = useRef<AbortController | null>(null)
  useEffect(() => () => stopping.current?.abort(), [])

  const made = (role: Role, content: string): Message => ({ id: nextId.current++, role, content })
  const ask = async (before: readonly Message[], settings: ChatSettings): Promise<void> => {
    const controller = new AbortController()
    stopping.current = controller
    const answer = made('assistant', '')
    let requestId: string | null = null
    let text = ''
    let reason = 'stop'
    setMessages([...before, answer])
    setRun({ kind: 'running' })
    try {
      const { format } = settings.model
      const path = `accounts/${account}/playground/${format}`
      const response = await openAnswer(path, bodyOf(before, settings), controller.signal)
      requestId = response.headers.get('x-request-id')
      for await (const piece of readAnswer(response, format)) {
        if (piece.kind === 'end') reason = piece.reason
        else {
          text += piece.text
          setMessages([...before, { ...answer, content: text }])
        }
      }
      setRun({ kind: 'ended', requestId, reason })
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      if (controller.signal.aborted) setRun({ kind: 'stopped', requestId })
      else setRun({ kind: 'failed', requestId: requestId ?? requestIdOf(error), error })
    }
    if (text === '') setMessages(before)
  }
  return {
    messages,
    run,
    add: (role: Role, content: string) => setMessages([...messages, made(role, content)]),
    edit: (id: number, content: string) =>
      setMessages(messages.map((one) => (one.id === id ? { ...one, content } : one))),
    remove: (id: number) => setMessages(messages.filter((one) => one.id !== id)),
    clear() {
      setMessages([])
      setRun({ kind: 'none' })
    },
    /** Says something, or nothing new, and asks for what comes next. */
    send: (content: string, settings: ChatSettings) =>
      ask(content === '' ? messages : [...messages, made('user', content)], settings),
    /** Asks again for what follows a message; what stood below it goes. */
    resend: (id: number, settings: ChatSettings) =>
      ask(messages.slice(0, messages.findIndex((one) => one.id === id) + 1), settings),
    /** Leaves the answer, as any client may. */
    stop: () => stopping.current?.abort(),
  }
}

function requestIdOf(error: Error): string | null {
  return 'requestId' in error && typeof error.requestId === 'string' ? error.requestId : null
}
