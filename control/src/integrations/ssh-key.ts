/** Parses ssh private keys, as far as needed to know that ssh can use them, and to get their public half. Pure. */
import { createPublicKey } from "node:crypto"

export type SshKey = { readonly publicKey: string } | { readonly problem: string }

/**
 * @param text  the output of `ssh-keygen`: OpenSSH's own format, or RSA in PEM
 * @see https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.key
 */
export function readSshKey(text: string): SshKey {
  const [, label = "", body = ""] = pem.exec(text.trim()) ?? []
  if (label === "OPENSSH PRIVATE KEY") return readOpenSsh(Buffer.from(body, "base64"))
  if (label === "RSA PRIVATE KEY" || label === "PRIVATE KEY") return readRsa(text)
  if (label === "ENCRYPTED PRIVATE KEY") return { problem: encrypted }
  return { problem: "is not a private key as ssh-keygen writes it" }
}

const pem = /^-----BEGIN ([A-Z ]+)-----\r?\n([\s\S]+?)-----END \1-----$/
const encrypted = "has a passphrase, which cannot be entered here: create a key without a passphrase"
const kinds = ["ssh-ed25519", "ssh-rsa"]
const magic = Buffer.from("openssh-key-v1\0")

function readOpenSsh(bytes: Buffer): SshKey {
  const fields = bytes.subarray(0, magic.length).equals(magic) ? fieldsFrom(bytes, magic.length) : undefined
  const cipher = fields?.text()
  if (!fields || cipher === undefined) return { problem: "is cut short or damaged" }
  if (cipher !== "none") return { problem: encrypted }
  fields.text()
  fields.text()
  const isOneKey = fields.number() === 1
  const blob = fields.bytes()
  // The private half must follow.
  if (!isOneKey || !blob || !fields.bytes()) return { problem: "is cut short or damaged" }
  const kind = fieldsFrom(blob, 0).text() ?? ""
  if (!kinds.includes(kind)) return { problem: `is of the kind ${JSON.stringify(kind)}: use ed25519 or RSA` }
  return { publicKey: `${kind} ${blob.toString("base64")}` }
}

/** Reads length-prefixed fields one after the other; returns undefined from the first incomplete one on. */
function fieldsFrom(bytes: Buffer, start: number) {
  let at = start
  const number = (): number | undefined => {
    if (at + 4 > bytes.length) return undefined
    at += 4
    return bytes.readUInt32BE(at - 4)
  }
  const field = (): Buffer | undefined => {
    const length = number()
    if (length === undefined || at + length > bytes.length) return undefined
    at += length
    return bytes.subarray(at - length, at)
  }
  return { number, bytes: field, text: () => field()?.toString("latin1") }
}

function readRsa(text: string): SshKey {
  if (text.includes("Proc-Type: 4,ENCRYPTED")) return { problem: encrypted }
  try {
    const { kty, n, e } = createPublicKey(text).export({ format: "jwk" })
    if (kty !== "RSA" || !n || !e) return { problem: "is a PEM key but not RSA: convert it with ssh-keygen" }
    const blob = Buffer.concat([prefixed(Buffer.from("ssh-rsa")), prefixed(positive(e)), prefixed(positive(n))])
    return { publicKey: `ssh-rsa ${blob.toString("base64")}` }
  } catch {
    // OpenSSL's error messages may contain parts of the key.
    return { problem: "is cut short or damaged" }
  }
}

function prefixed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** A number that starts with a set bit would be read as a negative one. */
function positive(base64url: string): Buffer {
  const bytes = Buffer.from(base64url, "base64url")
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes
}
