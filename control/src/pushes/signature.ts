/** Verifies that the sender of a delivery knows the secret. Works on the raw bytes. Pure. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import type { Provider } from "./push.js"

/** Reads a request's header, in lower case. */
export type Header = (name: string) => string | undefined

/** The header that carries the proof, by provider; Gitea also sends GitHub's. */
const signatureHeaders: Readonly<Record<Provider, readonly string[]>> = {
  github: ["x-hub-signature-256"],
  gitea: ["x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256"],
  gitlab: ["x-gitlab-token"],
  bitbucket: ["x-hub-signature"],
}

/** The sender's proof; undefined when it sent none. */
export function presentedProof(provider: Provider, header: Header): string | undefined {
  for (const name of signatureHeaders[provider]) {
    const value = header(name)
    if (value) return value
  }
  return undefined
}

const signature = /^(?:sha256=)?([0-9a-f]{64})$/i

/** Whether it can be a proof of any body; GitLab's proof is the secret itself, and proves every body. */
export const mayProve = (provider: Provider, proof: string): boolean => provider === "gitlab" || signature.test(proof)

/**
 * Compares in constant time: the duration reveals nothing about the right proof.
 * @param body  the raw bytes: parsed and serialized again, they would have another signature
 * @see https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries (also their example)
 */
export function isProof(provider: Provider, proof: string, secret: string, body: Uint8Array): boolean {
  if (provider === "gitlab") return equal(sha256(proof), sha256(secret))
  const [, hex] = signature.exec(proof) ?? []
  if (hex === undefined) return false
  return equal(Buffer.from(hex, "hex"), createHmac("sha256", secret).update(body).digest())
}

// Always of the same length, as the comparison requires.
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
const equal = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)
