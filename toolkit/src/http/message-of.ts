/** Messages that a generated validator of `protocol` checks, where a route wants a type of zod. */
import { z } from "zod"

/** What a validator found: the message, or its first problem. */
type Read<Message> =
  | { readonly message: Message }
  | { readonly problem: { readonly path: readonly string[]; readonly message: string } }

/** @param read  checks a parsed JSON value */
export const messageOf = <Message>(read: (value: unknown) => Read<Message>): z.ZodType<Message> =>
  z.unknown().transform((value, ctx) => {
    const it = read(value)
    if ("message" in it) return it.message
    ctx.addIssue({ code: "custom", message: it.problem.message, path: [...it.problem.path] })
    return z.NEVER
  })
