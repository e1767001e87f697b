/**
 * The secret that edge and control plane send each other. Only this user may connect to their sockets, but that alone is
 * not enough: somebody else's request may be redirected there, and whoever can send a table decides where every request
 * goes.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import type { Secret } from "@superstep/toolkit/config/settings"

/** The header that carries the token. */
export const tokenHeader = (token: Secret): { readonly authorization: string } => ({
  authorization: `Bearer ${token.reveal()}`,
})

/** Returns whether a request carries the token. Takes the same time for every wrong one. */
export const showsToken = (authorization: string | undefined, token: Secret): boolean =>
  timingSafeEqual(sha256(authorization ?? ""), sha256(tokenHeader(token).authorization))

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
