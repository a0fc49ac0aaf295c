import { Brand } from './icon.tsx'
import { useServiceName } from './service-name.tsx'
import { Failed } from './states.tsx'

/** A page that could not be shown. */
export function PageFailed({ error }: { error: Error }) {
  const service = useServiceName()
  return (
    <div className="door">
      <main>
        <a className="brand" href="/app/">
          <Brand />
        </a>
        <h1 className="vh">{service}</h1>
        <div className="card">
          <Failed
            what="The page could not be shown."
            query={{ error, refetch: () => location.reload() }}
          />
        </div>
      </main>
    </div>
  )
}
