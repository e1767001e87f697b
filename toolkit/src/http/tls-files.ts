/** Certificate and key as files, which somebody else (certbot, an operator) replaces while we run. */
import { readFileSync, unwatchFile, watchFile } from "node:fs"
import type { Server } from "node:https"
import { createSecureContext } from "node:tls"
import { KnownError } from "../errors/errors.js"
import type { Log } from "../log/log.js"

export interface TlsFiles {
  /** PEM: the server's own certificate first, those that vouch for it after it. */
  readonly certFile: string
  /** PEM, without a passphrase. */
  readonly keyFile: string
}

export class UnusableCertificate extends KnownError {
  readonly code = "unusable_certificate"
}

/** @throws UnusableCertificate  a file cannot be read, or the two do not belong together */
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
  throw new UnusableCertificate("SUPERSTEP_TLS_CERT and SUPERSTEP_TLS_KEY belong together: set both or neither")
}

// Looking at a path finds a file that took its place and a link that was turned, which watching a file does not.
const lookMs = 5000

/**
 * Uses new files from the next connection on; those that are open keep what they have. Files that cannot be used, such as
 * when only one of the two is new yet, are told in the log, and the former pair stays.
 * @returns ends it
 */
export function followTlsFiles(server: Server, files: TlsFiles, log: Log, everyMs = lookMs): () => void {
  const renew = () => {
    try {
      server.setSecureContext(readTlsFiles(files))
      log.info({ file: files.certFile }, "certificate renewed")
    } catch (err) {
      log.error({ err }, "the new certificate is not used")
    }
  }
  // Both may be in one file.
  const paths = new Set([files.certFile, files.keyFile])
  for (const path of paths) watchFile(path, { interval: everyMs, persistent: false }, renew)
  return () => {
    for (const path of paths) unwatchFile(path, renew)
  }
}
