import encodeQR from 'qr'

interface QrCodeProps {
  readonly text: string
  /** The label for screen readers. */
  readonly label: string
}

// The margin that scanners need around it.
const QUIET = 4

/** A text as a QR code, dark on white in both themes: scanners do not read the reverse. */
export function QrCode({ text, label }: QrCodeProps) {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: QUIET })
  const path = rows
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
    >
      <path className="qr-ground" d={`M0 0h${rows.length}v${rows.length}h-${rows.length}z`} />
      <path className="qr-modules" d={path} />
    </svg>
  )
}
