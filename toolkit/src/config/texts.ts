/** The texts of settings and what they become: one reading of each kind, so that all processes accept the same texts. */
import { resolve } from "node:path"
import { z } from "zod"
import { isThisMachine } from "../http/this-machine.js"
import { Secret } from "./settings.js"

export const wholeNumber = ({ least = 0, most = Number.MAX_SAFE_INTEGER } = {}) =>
  z
    .string()
    .regex(/^\d+$/, "expected a whole number")
    .transform(Number)
    .refine((value) => value >= least, `expected at least ${least}`)
    .refine((value) => value <= most, `expected at most ${most}`)

export const port = z
  .string()
  .regex(/^\d{1,5}$/, "expected a port number")
  .transform(Number)
  .refine((number) => number <= 65_535, "expected a port number")

/** 1 or 0. */
export const flag = (fallback: boolean) => ({
  schema: z
    .enum(["0", "1", "true", "false"], "expected 1 or 0")
    .transform((text) => text === "1" || text === "true")
    .default(fallback),
  defaultText: fallback ? "`1`" : "`0`",
})

// Many take 0 for "no limit"; where it would mean that nothing ever succeeds, or an endless loop, it is refused.
const durationIn =
  (unit: "seconds" | "minutes", unitMs: number) =>
  (fallback: number, { mayBeZero = false } = {}) => ({
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/, `expected ${unit}`)
      .transform((text) => Number(text) * unitMs)
      .refine((ms) => mayBeZero || ms > 0, "expected more than 0")
      .default(fallback * unitMs),
    defaultText: `\`${fallback}\``,
  })

/** A duration that is set in seconds, and used in milliseconds. */
export const seconds = durationIn("seconds", 1000)
/** A duration that is set in minutes, and used in milliseconds. */
export const minutes = durationIn("minutes", 60_000)

/** A path, which is resolved from the present folder: a process that is started elsewhere finds the same file. */
export const file = z.string("expected a path").transform((path) => resolve(path))

export const httpUrl = z.url({ protocol: /^https?$/, message: "expected an http or https address" })

/** An address to which secrets may be sent: https, or http on this machine. */
export const safeUrl = z.string().refine(isSafe, { message: "expected an https address", abort: true })

export function isSafe(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === "https:" || (protocol === "http:" && isThisMachine(hostname))
}

/** @param text  reads it before it becomes a secret */
export const secret = (text: z.ZodType<string, string> = z.string("expected a secret")) =>
  text.transform((value) => new Secret(value))

/** JSON of a schema. @param expected  what is said of a text that is none, with the place in it where it differs */
export const json = <T extends z.ZodType>(schema: T, expected: string) =>
  z.string().transform((text, context): z.output<T> => {
    const found = schema.safeParse(parsed(text))
    if (found.success) return found.data
    for (const { path, message } of found.error.issues)
      context.addIssue({
        code: "custom",
        message: path.length === 0 ? expected : `${expected} (${path.join(".")}: ${message})`,
      })
    return z.NEVER
  })

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No schema accepts it, so the text is refused.
    return undefined
  }
}

/** A text that may have no problem. @param problemOf  says what is wrong */
export const without = (problemOf: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const message = problemOf(text)
    if (message !== undefined) context.addIssue({ code: "custom", message })
  })
