import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Trusts the certificate authorities of a PEM file in addition to Node's, on all later connections of this thread. Node itself
 * reads `NODE_EXTRA_CA_CERTS` when its process starts, which is before `.env` is read. Returns what is wrong with the file, or
 * null.
 */
export function trustAuthorities(file: string): string | null {
  const certificates = textOf(file)?.match(CERTIFICATE) ?? null
  if (certificates === null) {
    return `NODE_EXTRA_CA_CERTS is ${file}, which is not a readable file of certificates: name a PEM file of certificate authorities`
  }
  const unread = certificates.findIndex((certificate) => !isReadable(certificate))
  if (unread !== -1) {
    return `NODE_EXTRA_CA_CERTS is ${file}, whose certificate ${unread + 1} can't be read: name a PEM file of certificate authorities`
  }
  setDefaultCACertificates([...getCACertificates('default'), ...certificates])
  return null
}

function isReadable(certificate: string): boolean {
  try {
    return new X509Certificate(certificate).raw.length > 0
  } catch {
    return false
  }
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
