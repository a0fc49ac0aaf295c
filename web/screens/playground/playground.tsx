import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Model } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { Icon } from '../../parts/icon.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { ModelPicker } from '../../parts/model-picker.tsx'
import { ChooseAccount } from '../../parts/pick-account.tsx'
import { useServiceName } from '../../parts/service-name.tsx'
import { useExampleModel, useModels } from '../../parts/use-models.ts'
import { SuspendedBand, useWatchedAccount } from '../../shell/account-bands.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useAccountId, useNameOf } from '../../shell/use-account.ts'
import { type Run, type Typed, useChat } from './chat-store.ts'
import { Composer } from './composer.tsx'
import { Estimate } from './estimate.tsx'
import { type AskedModel, askedModel, bodyOf, type ChatSettings, SPOKEN } from './formats.ts'
import { MessageItem } from './message-item.tsx'
import { Outcome } from './outcome.tsx'
import { SettingsForm } from './settings-form.tsx'
import { usePlaygroundKey } from './use-playground-key.ts'
import { ViewCode } from './view-code.tsx'

const route = getRouteApi('/$account/playground')

/** A conversation with a model, which is charged as any request is. */
export function PlaygroundScreen() {
  const { model: asked } = route.useSearch()
  const navigate = route.useNavigate()
  const accountId = useAccountId()
  const chat = useChat(accountId)
  const isSuspended = useWatchedAccount(accountId)?.disabled === true
  const models = useModels(SPOKEN)
  const fallback = useExampleModel(SPOKEN.find((format) => models.some(isIn(format))))
  const modelId = asked ?? chat.typed.model ?? fallback
  const model = models.find(({ id }) => id === modelId)
  const takesTemperature = model?.supported_parameters.includes('temperature') ?? true
  const [isCodeShown, setCodeShown] = useState(false)
  // Before the models are known, the format of this one is not.
  const settings =
    models.length === 0
      ? null
      : settingsOf(chat.typed, { model: askedModel(modelId, model), takesTemperature })
  const isRunning = chat.run.kind === 'running'
  const canContinue = chat.messages.at(-1)?.role === 'user'
  const canSend = canContinue || chat.typed.draft.trim() !== ''
  const next = settings === null ? null : nextRequest(chat, settings)
  const pickModel = (picked: string) => {
    chat.type({ model: picked })
    void navigate({ search: { model: picked }, replace: true })
  }
  return (
    <>
      <Head
        onCode={settings === null ? null : () => setCodeShown(true)}
        onNew={isRunning || chat.messages.length === 0 ? null : chat.clear}
      />
      <Payer />
      <div className="playground">
        {/* First, so that the key Tab reaches it before the message. */}
        <div className="asked-model">
          <ModelPicker
            models={models}
            value={modelId}
            onChange={pickModel}
            error={
              models.length > 0 && model === undefined
                ? 'This account can no longer use this model, or it left the catalog. Choose another one.'
                : null
            }
          />
        </div>
        <section className="card conversation" aria-label="Conversation" aria-busy={isRunning}>
          {chat.messages.length === 0 ? (
            <Beginning modelId={modelId} />
          ) : (
            <Messages chat={chat} settings={settings} />
          )}
          <Outcome run={chat.run} />
          {isSuspended ? (
            <div className="composer">
              <SuspendedBand accountId={accountId} />
            </div>
          ) : (
            <Composer
              draft={chat.typed.draft}
              onDraft={(draft) => chat.type({ draft })}
              isRunning={isRunning}
              canContinue={canContinue}
              isReady={settings !== null}
              estimate={<Estimate next={isRunning || !canSend ? null : next} />}
              onSend={(content) => void (settings && chat.send(content, settings))}
              onAdd={chat.add}
              onStop={chat.stop}
            />
          )}
        </section>
        <section className="card asked" aria-label="Settings">
          <SettingsForm
            typed={chat.typed}
            onChange={chat.type}
            takesTemperature={takesTemperature}
          />
          <PlaygroundNote />
        </section>
      </div>
      {isCodeShown && next !== null && <ViewCode {...next} onClose={() => setCodeShown(false)} />}
    </>
  )
}

interface HeadProps {
  /** Null: the settings can't be sent. */
  readonly onCode: (() => void) | null
  /** Null: there is no chat, or an answer comes. */
  readonly onNew: (() => void) | null
}

function Head({ onCode, onNew }: HeadProps) {
  return (
    <ScreenTop title="Playground">
      <button type="button" className="btn" disabled={onCode === null} onClick={() => onCode?.()}>
        <Icon name="code" />
        View code
      </button>
      <button
        type="button"
        className="btn"
        aria-label="New chat"
        disabled={onNew === null}
        onClick={() => onNew?.()}
      >
        <Icon name="plus" />
        <span className="hide-s">New chat</span>
      </button>
    </ScreenTop>
  )
}

interface MessagesProps {
  readonly chat: ReturnType<typeof useChat>
  /** Null: they can't be sent. */
  readonly settings: ChatSettings | null
}

function Messages({ chat, settings }: MessagesProps) {
  const { run } = chat
  const shownBelow = run.kind === 'running' ? chat.messages.at(-1)?.requestId : requestOf(run)
  return (
    <ol>
      {chat.messages.map((message) => (
        <MessageItem
          key={message.id}
          message={message}
          isPriced={message.requestId !== null && message.requestId !== shownBelow}
          isLocked={chat.run.kind === 'running'}
          onEdit={(content) => chat.edit(message.id, content)}
          onRemove={() => chat.remove(message.id)}
          onResend={() => void (settings && chat.resend(message.id, settings))}
        />
      ))}
    </ol>
  )
}

/** The latest request, whose charge is below all messages; null: there is none, or it never began. */
function requestOf(run: Run): string | null {
  return 'requestId' in run ? run.requestId : null
}

/** The request that Send would send now; without a message, an example of one. */
function nextRequest(
  { messages, typed }: Pick<ReturnType<typeof useChat>, 'messages' | 'typed'>,
  settings: ChatSettings,
) {
  const draft = typed.draft.trim() === '' ? [] : [{ role: 'user', content: typed.draft }]
  const said = [...messages, ...draft]
  const shown = said.length === 0 ? [{ role: 'user', content: 'Say hello.' }] : said
  return { body: bodyOf(shown, settings), format: settings.model.format }
}

function Beginning({ modelId }: { modelId: string }) {
  return (
    <div className="blank">
      <h2>
        Ask <ModelName id={modelId} /> a question
      </h2>
      <p>Each request is charged and appears in Activity, like a request with any other key.</p>
    </div>
  )
}

/** A note on how chats are kept, and the rest of the Playground key's limit. */
function PlaygroundNote() {
  const account = useAccountId()
  const key = usePlaygroundKey(account)
  const service = useServiceName()
  return (
    <p className="note">
      Chats stay in this tab until you close or reload it. {service} stores no prompts or answers.
      Requests run on the key{' '}
      <Link className="link" to="/$account/keys" params={{ account }}>
        “Playground”
        {key !== null && (
          <>
            : {money(key.leftMicros)} of {money(key.limitMicros)} left
          </>
        )}
      </Link>
      .
    </p>
  )
}

function isIn(format: string): (model: Model) => boolean {
  return ({ endpoints }) => endpoints.includes(format)
}

/** The settings in the fields; null: one of them can't be sent. */
function settingsOf(
  { system, cap, temperature, isStreamed }: Typed,
  { model, takesTemperature }: { readonly model: AskedModel; readonly takesTemperature: boolean },
): ChatSettings | null {
  const capTokens = cap.trim() === '' ? null : Number(cap)
  const degree = temperature.trim() === '' || !takesTemperature ? null : Number(temperature)
  if (capTokens !== null && !(Number.isInteger(capTokens) && capTokens > 0)) return null
  if (degree !== null && !(degree >= 0 && degree <= 2)) return null
  return { model, system, capTokens, temperature: degree, isStreamed }
}

/** Says to an operator whose credit pays, and offers the credit of another account. Nothing for members, whose account pays. */
function Payer() {
  const accountId = useAccountId()
  const { name, role } = useNameOf(accountId)
  const { model } = route.useSearch()
  const navigate = route.useNavigate()
  if (role !== 'operator') return null
  return (
    <div className="filters">
      <p className="note flex-1 max-[641px]:basis-full">
        Requests are charged to the credit of <b>{name}</b>, and appear in its Activity.
      </p>
      <ChooseAccount
        accountId={accountId}
        className="pill"
        onChoose={(account) =>
          void navigate({
            to: '/$account/playground',
            params: { account },
            search: model === undefined ? {} : { model },
          })
        }
      >
        Charge another account
      </ChooseAccount>
    </div>
  )
}
