import { useState } from 'react'
import { CodeLines } from '../../parts/code-lines.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { CloseFooter, Dialog } from '../../parts/dialog.tsx'
import { Segments } from '../../parts/segments.tsx'
import { useMe } from '../../shell/use-account.ts'
import { CODE_LANGUAGES, type ShownRequest } from './request-code.ts'

interface ViewCodeProps extends Pick<ShownRequest, 'body' | 'format'> {
  readonly onClose: () => void
}

/** The next request as code, in each language of Connect. */
export function ViewCode({ body, format, onClose }: ViewCodeProps) {
  const { base_url: baseUrl } = useMe()
  const [picked, setPicked] = useState(CODE_LANGUAGES[0]?.value ?? 'curl')
  const language = CODE_LANGUAGES.find(({ value }) => value === picked)
  const lines = language?.code({ body, format, baseUrl }) ?? ''
  return (
    <Dialog title="Code of this request" onClose={onClose} isWide>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Segments label="Language" options={CODE_LANGUAGES} value={picked} onChange={setPicked} />
        <CopyButton text={lines} label="Copy the code" />
      </div>
      <div className="code">
        <CodeLines lines={lines} />
      </div>
      <p>The key is read from TOLLGATE_API_KEY. Create one under Keys.</p>
      <CloseFooter />
    </Dialog>
  )
}
