/** A certificate for tests of TLS, created by openssl where it is installed. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import type { TlsFiles } from "../http/tls-files.js"

const hasOpenssl = (): boolean => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** For a test's `skip`: the reason why it cannot run here, or false. */
export const withoutOpenssl = (): string | false =>
  hasOpenssl() ? false : "openssl, which creates the certificate, is not installed"

/** Creates a self-signed certificate for this machine's addresses. @param name  its common name */
export function makeCertificate(folder: string, name = "localhost"): TlsFiles {
  const files = { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) }
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
  const names = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"]
  execFileSync("openssl", [...args, ...names, "-keyout", files.keyFile, "-out", files.certFile], { stdio: "ignore" })
  return files
}
