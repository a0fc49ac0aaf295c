import { useSyncExternalStore } from 'react'
import { askPlayground } from '../../api/calls.ts'
import { onForget } from '../../api/client.ts'
import { addUnsavedCheck } from '../../parts/unsaved.ts'
import { readAnswer } from './answer.ts'
import { bodyOf, type ChatSettings } from './formats.ts'

/** The speaker of a message. */
export type Role = 'user' | 'assistant'

/** A message of the conversation. */
export interface Message {
  readonly id: number
  readonly role: Role
  readonly content: string
  /** The model that wrote an answer. Null: a person wrote the message. */
  readonly model: string | null
  /** The request of an answer. Null: there is none. */
  readonly requestId: string | null
}

/** The latest request. */
export type Run =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly requestId: string | null; readonly reason: string }
  | { readonly kind: 'stopped'; readonly requestId: string | null }
  | { readonly kind: 'failed'; readonly requestId: string | null; readonly error: Error }

/** The typed text other than messages. */
export interface Typed {
  readonly system: string
  /** Empty: none. */
  readonly cap: string
  /** Empty: the model's own. */
  readonly temperature: string
  readonly isStreamed: boolean
  /** The next message. */
  readonly draft: string
  /** Null: the first of the catalog. */
  readonly model: string | null
}

interface Chat {
  readonly accountId: string
  readonly messages: readonly Message[]
  readonly run: Run
  readonly typed: Typed
}

const TYPED: Typed = {
  system: '',
  cap: '1000',
  temperature: '',
  isStreamed: true,
  draft: '',
  model: null,
}

// In the memory of the tab: it outlives the sections, and ends with a reload, a sign-out and another account.
let chat: Chat = emptyChat('')
let nextId = 1
let stopping: AbortController | null = null
const listeners = new Set<() => void>()

onForget(() => {
  stopping?.abort()
  set(emptyChat(''))
})

addUnsavedCheck(() => {
  const { messages, typed } = chat
  return messages.length > 0 || typed.draft !== '' || typed.system !== ''
})

function emptyChat(accountId: string): Chat {
  return { accountId, messages: [], run: { kind: 'none' }, typed: TYPED }
}

function set(next: Chat): void {
  chat = next
  for (const listener of listeners) listener()
}

function change(part: Partial<Chat>): void {
  set({ ...chat, ...part })
}

window.addEventListener('beforeunload', (event) => {
  if (chat.run.kind === 'running') event.preventDefault()
})

/** The conversation of an account, only in the memory of this tab, and the request that continues it. */
export function useChat(accountId: string) {
  const shown = useSyncExternalStore(subscribe, () => chatOf(accountId))
  const { messages, typed } = shown
  return {
    ...shown,
    type: (part: Partial<Typed>) => change({ typed: { ...typed, ...part } }),
    add: (role: Role, content: string) => change({ messages: [...messages, said(role, content)] }),
    edit: (id: number, content: string) =>
      change({ messages: messages.map((one) => (one.id === id ? { ...one, content } : one)) }),
    remove: (id: number) => change({ messages: messages.filter((one) => one.id !== id) }),
    clear: () => change({ messages: [], run: { kind: 'none' } }),
    /** Says something, or nothing new, and asks for what comes next. */
    send: (content: string, settings: ChatSettings) =>
      ask(content === '' ? messages : [...messages, said('user', content)], settings),
    /** Asks again for what follows a message; the messages below it are dropped. */
    resend: (id: number, settings: ChatSettings) =>
      ask(messages.slice(0, messages.findIndex((one) => one.id === id) + 1), settings),
    /** Leaves the answer, as any client may. */
    stop: () => stopping?.abort(),
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function chatOf(accountId: string): Chat {
  if (chat.accountId !== accountId) {
    stopping?.abort()
    chat = emptyChat(accountId)
  }
  return chat
}

function said(role: Role, content: string): Message {
  return { id: nextId++, role, content, model: null, requestId: null }
}

async function ask(before: readonly Message[], settings: ChatSettings): Promise<void> {
  const { accountId } = chat
  const controller = new AbortController()
  stopping = controller
  let answer: Message = { ...said('assistant', ''), model: settings.model.id }
  let reason = 'stop'
  // After a sign-out or a change of account, the answer is not shown.
  const show = (part: Partial<Chat>) => {
    if (stopping === controller && chat.accountId === accountId) change(part)
  }
  // Of the messages as they are by then: an earlier one may be edited meanwhile.
  const showAnswer = () =>
    show({ messages: chat.messages.map((one) => (one.id === answer.id ? answer : one)) })
  show({ messages: [...before, answer], run: { kind: 'running' } })
  try {
    const { format } = settings.model
    const asked = { account_id: accountId, format }
    const response = await askPlayground(asked, bodyOf(before, settings), controller.signal)
    answer = { ...answer, requestId: response.headers.get('x-request-id') }
    for await (const piece of readAnswer(response, format)) {
      if (piece.kind === 'end') reason = piece.reason
      else {
        answer = { ...answer, content: answer.content + piece.text }
        showAnswer()
      }
    }
    show({ run: { kind: 'ended', requestId: answer.requestId, reason } })
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const { requestId } = answer
    if (controller.signal.aborted) show({ run: { kind: 'stopped', requestId } })
    else show({ run: { kind: 'failed', requestId: requestId ?? requestIdOf(error), error } })
  }
  if (answer.content === '') show({ messages: chat.messages.filter(({ id }) => id !== answer.id) })
  else showAnswer()
}

function requestIdOf(error: Error): string | null {
  return 'requestId' in error && typeof error.requestId === 'string' ? error.requestId : null
}
