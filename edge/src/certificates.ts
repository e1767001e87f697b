/** The certificates of host names: files that the control plane writes, each named by its hash and never changed. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createSecureContext, type SecureContext } from "node:tls"
import type { Log } from "@superstep/toolkit/log/log"

export interface Certificates {
  /** Reads the file at the first use. @returns  undefined when it cannot be used: then the operator's certificate is shown */
  find(sha256: string): SecureContext | undefined
  /** Forgets all others. */
  keepOnly(sha256: ReadonlySet<string>): void
}

export const certificateFile = (folder: string, sha256: string): string => join(folder, `${sha256}.pem`)

export function certificatesIn(folder: string | undefined, log: Log): Certificates {
  const known = new Map<string, SecureContext>()
  const read = (sha256: string): SecureContext | undefined => {
    if (folder === undefined) return undefined
    try {
      const pem = readFileSync(certificateFile(folder, sha256))
      return createSecureContext({ cert: pem, key: pem })
    } catch (err) {
      log.error({ err, certificate: sha256 }, "the certificate of a host name cannot be used")
      return undefined
    }
  }
  return {
    find: (sha256) => {
      const context = known.get(sha256) ?? read(sha256)
      if (context) known.set(sha256, context)
      return context
    },
    keepOnly: (wanted) => {
      for (const sha256 of known.keys()) if (!wanted.has(sha256)) known.delete(sha256)
    },
  }
}
