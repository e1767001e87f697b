import { z } from "zod"
import { Secret } from "./settings.js"

/**
 * The text of `DATABASE_URI`. It is validated before anything connects: a server that is down is waited for, but an address
 * that can never work is rejected. The message does not repeat the text, which may contain a password.
 */
export const databaseAddress = z
  .string("expected a postgres:// address")
  .refine(isPostgresAddress, "expected an address such as postgres://user:password@host:5432/name")
  .refine(
    hasClearTls,
    "sslmode=prefer and sslmode=allow are not supported: use sslmode=disable, or sslmode=require with TLS",
  )
  .transform((text) => new Secret(text))

function isPostgresAddress(text: string): boolean {
  // `pg` accepts credentials before an empty host, as is common with `?host=/folder`; a URL does not.
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace("@/", "@localhost/"))
}

/**
 * With `prefer` and `allow` libpq may connect with or without TLS; `pg` requires TLS with both. Whether passwords are encrypted
 * should not depend on which of them reads the address.
 */
function hasClearTls(text: string): boolean {
  const address = text.replace("@/", "@localhost/")
  const modes = URL.canParse(address) ? new URL(address).searchParams.getAll("sslmode") : []
  return !modes.some((mode) => mode === "prefer" || mode === "allow")
}
