import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../src/store/testing/free-port.ts'
import type { DebianProgram } from './debian-program.ts'
import { deployBlock } from './deploy-page.ts'

const run = promisify(execFile)

/** The proxies that docs/deploy.md has settings for. */
export const PROXIES: readonly DebianProgram[] = [
  { name: 'nginx', program: 'usr/sbin/nginx', versionFlag: '-v' },
  { name: 'caddy', program: 'usr/bin/caddy', versionFlag: 'version' },
]

export interface StartProxyInput {
  readonly name: string
  readonly program: string
  /** A folder for what it writes. */
  readonly folder: string
  /** Host and port of the gateway. */
  readonly gateway: string
}

/** A running proxy. */
export interface RunningProxy {
  readonly address: string
  /** The certificate that it shows, which signs itself. */
  readonly certificate: string
  stop(): Promise<void>
}

/** Starts a proxy with its block of docs/deploy.md; only addresses and places are this run's own. */
export async function startProxy(input: StartProxyInput): Promise<RunningProxy> {
  const { name, program, folder } = input
  const port = await freePort()
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '1', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ...['-keyout', key, '-out', certificate],
  ])
  const places = { ...input, port, certificate, key }
  const args = name === 'nginx' ? nginxArgs(places) : caddyArgs(places)
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  let written = ''
  child.stderr.on('data', (chunk) => {
    written += String(chunk)
  })
  await Promise.race([
    portOpened(port, () => child.exitCode === null),
    ended.then(() => Promise.reject(new Error(`${name} ended: ${written}`))),
  ])
  return {
    address: `https://localhost:${port}`,
    certificate: readFileSync(certificate, 'utf8'),
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

interface Places extends StartProxyInput {
  readonly port: number
  readonly certificate: string
  readonly key: string
}

function nginxArgs({ folder, gateway, port, certificate, key }: Places): readonly string[] {
  const block = replaced(deployBlock('nginx', 'proxy_pass'), [
    ['127.0.0.1:8787', gateway],
    ['listen 443 ', `listen 127.0.0.1:${port} `],
    ['llm.example.com', 'localhost'],
    ['/etc/ssl/tollgate/certificate.pem', certificate],
    ['/etc/ssl/tollgate/key.pem', key],
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((each) => `${each}_temp_path ${folder}/${each};`)
    .join('\n')
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; pid ${folder}/pid; events {}\nhttp { access_log off; ${temporary}\n${block}}\n`,
  )
  return ['-c', file, '-e', 'stderr']
}

function caddyArgs({ folder, gateway, port, certificate, key }: Places): readonly string[] {
  const block = replaced(deployBlock('caddyfile', 'reverse_proxy'), [
    ['127.0.0.1:8787', gateway],
    [
      'llm.example.com {',
      `https://localhost:${port} {\n  bind 127.0.0.1\n  tls ${certificate} ${key}`,
    ],
  ])
  const file = join(folder, 'Caddyfile')
  if (!existsSync(join(folder, 'home'))) mkdirSync(join(folder, 'home'))
  writeFileSync(file, `{\n  admin off\n  auto_https disable_redirects\n}\n${block}`)
  return ['run', '--adapter', 'caddyfile', '--config', file]
}

/** The text with each first replaced by its second; throws where one is not there. */
function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  let result = text
  for (const [shown, own] of pairs) {
    if (!result.includes(shown)) throw new Error(`the page does not say ${shown}`)
    result = result.replaceAll(shown, own)
  }
  return result
}

/** By position: resolves once a port takes connections; tries for as long as it is worth it. */
async function portOpened(port: number, isWorthIt: () => boolean): Promise<void> {
  while (isWorthIt()) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
  }
}
