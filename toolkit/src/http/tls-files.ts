/** Certificate and key as files, which somebody else (certbot, an operator) replaces while we run. */
import { readFileSync, unwatchFile, watchFile } from "node:fs"
import type { Server } from "node:https"
import { createSecureContext } from "node:tls"
import { KnownError } from "../errors/errors.js"
import type { Log } from "../log/log.js"

export interface TlsFiles {
  /** PEM: the server's own certificate first, then its issuers. */
  readonly certFile: string
  /** PEM, without a passphrase. */
  readonly keyFile: string
}

export class UnusableCertificate extends KnownError {
  readonly code = "unusable_certificate"
}

/** @throws UnusableCertificate  a file cannot be read, or the two do not match */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): { cert: Buffer; key: Buffer } {
  try {
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
    createSecureContext(pair)
    return pair
  } catch (cause) {
    const why = (cause as Error).message
    throw new UnusableCertificate(`certificate ${certFile} and key ${keyFile} cannot be used: ${why}`, { cause })
  }
}

/**
 * @returns both, or undefined when neither is set
 * @throws UnusableCertificate  one is set without the other
 */
export function tlsFilesOf(certFile: string | undefined, keyFile: string | undefined): TlsFiles | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  throw new UnusableCertificate("set both SUPERSTEP_TLS_CERT and SUPERSTEP_TLS_KEY, or neither")
}

// Polling a path notices a replaced file and a changed link; watching the file does not.
const lookMs = 5000

/**
 * Uses new files from the next connection on; open connections keep theirs. Unusable files, for example while only one of the
 * two is new, are logged, and the former pair stays in use.
 * @returns  a function that stops it
 */
export function followTlsFiles(server: Server, files: TlsFiles, log: Log, everyMs = lookMs): () => void {
  const renew = () => {
    try {
      server.setSecureContext(readTlsFiles(files))
      log.info({ file: files.certFile }, "certificate renewed")
    } catch (err) {
      log.error({ err }, "the new certificate cannot be used; the former one stays in use")
    }
  }
  // Both may be in one file.
  const paths = new Set([files.certFile, files.keyFile])
  for (const path of paths) watchFile(path, { interval: everyMs, persistent: false }, renew)
  return () => {
    for (const path of paths) unwatchFile(path, renew)
  }
}
