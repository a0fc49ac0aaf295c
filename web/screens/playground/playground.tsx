import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { Model } from '../../api/answers.ts'
import { ModelName } from '../../parts/model-name.tsx'
import { useExampleModel, useModels } from '../../parts/use-models.ts'
import { useTitle } from '../../parts/use-title.ts'
import { Composer } from './composer.tsx'
import { type AskedModel, askedModel, SPOKEN } from './formats.ts'
import { MessageItem } from './message-item.tsx'
import { Outcome } from './outcome.tsx'
import { type AskedFor, SettingsForm } from './settings-form.tsx'
import { type ChatSettings, useChat } from './use-chat.ts'

const route = getRouteApi('/$account/playground')

const FIRST: AskedFor = { system: '', cap: '1000', temperature: '', isStreamed: true }

/** A conversation with a model, which is charged as any request is. */
export function PlaygroundScreen() {
  useTitle('Playground')
  const { model: asked } = route.useSearch()
  const navigate = route.useNavigate()
  const models = useModels(SPOKEN)
  const fallback = useExampleModel(SPOKEN.find((format) => models.some(isIn(format))))
  const modelId = asked ?? fallback
  const model = models.find(({ id }) => id === modelId)
  const takesTemperature = model?.supported_parameters.includes('temperature') ?? true
  const [fields, setFields] = useState(FIRST)
  const chat = useChat()
  const settings = settingsOf(fields, { model: askedModel(modelId, model), takesTemperature })
  const isRunning = chat.run.kind === 'running'
  return (
    <>
      <div className="top">
        <h1>Playground</h1>
        {chat.messages.length > 0 && (
          <button type="button" className="btn" disabled={isRunning} onClick={chat.clear}>
            Clear
          </button>
        )}
      </div>
      <div className="playground">
        <section className="card" aria-label="Settings">
          <SettingsForm
            modelId={modelId}
            onModel={(picked) => navigate({ search: { model: picked }, replace: true })}
            fields={fields}
            onChange={setFields}
            takesTemperature={takesTemperature}
          />
        </section>
        <section className="card conversation" aria-label="Conversation" aria-busy={isRunning}>
          {chat.messages.length === 0 ? (
            <Beginning modelId={modelId} />
          ) : (
            <ol>
              {chat.messages.map((message) => (
                <MessageItem
                  key={message.id}
                  message={message}
                  isLocked={isRunning}
                  onEdit={(content) => chat.edit(message.id, content)}
                  onRemove={() => chat.remove(message.id)}
                  onResend={() => void (settings && chat.resend(message.id, settings))}
                />
              ))}
            </ol>
          )}
          <Outcome run={chat.run} />
          <Composer
            isRunning={isRunning}
            canContinue={chat.messages.at(-1)?.role === 'user'}
            isReady={settings !== null}
            onSend={(content) => void (settings && chat.send(content, settings))}
            onAdd={chat.add}
            onStop={chat.stop}
          />
        </section>
      </div>
    </>
  )
}

function Beginning({ modelId }: { modelId: string }) {
  return (
    <div className="blank">
      <h2>
        Ask <ModelName id={modelId} /> something
      </h2>
      <p>
        A request is charged as any other. It runs on a key of its own, “Playground”, whose limit is
        $5 until somebody changes it under Keys, and is listed in Activity.
      </p>
      <p>
        What is written here is stored nowhere: not by tollgate, and not by this browser. It is gone
        when you leave this page.
      </p>
    </div>
  )
}

function isIn(format: string): (model: Model) => boolean {
  return ({ endpoints }) => endpoints.includes(format)
}

/** What the fields say; null: one of them can't be sent. */
function settingsOf(
  { system, cap, temperature, isStreamed }: AskedFor,
  { model, takesTemperature }: { readonly model: AskedModel; readonly takesTemperature: boolean },
): ChatSettings | null {
  const capTokens = cap.trim() === '' ? null : Number(cap)
  const degree = temperature.trim() === '' || !takesTemperature ? null : Number(temperature)
  if (capTokens !== null && !(Number.isInteger(capTokens) && capTokens > 0)) return null
  if (degree !== null && !(degree >= 0 && degree <= 2)) return null
  return { model, system, capTokens, temperature: degree, isStreamed }
}
