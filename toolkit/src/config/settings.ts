/**
 * Settings of a process: each has a name, a default and a sentence; the environment is read once, and all problems
 * are reported together. The reference page is printed from the same definitions.
 */
import type { z } from "zod"
import { KnownError } from "../errors/errors.js"

/** A value that must not be shown: logs, JSON and template strings print `[secret]`. */
export class Secret {
  readonly #value: string
  constructor(value: string) {
    this.#value = value
  }
  /** The value itself, at the one place that needs it. */
  reveal(): string {
    return this.#value
  }
  toString(): string {
    return "[secret]"
  }
  toJSON(): string {
    return "[secret]"
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "[secret]"
  }
}

export interface Setting<T> {
  /** Name of the environment variable, such as `SUPERSTEP_PORT`. */
  readonly env: string
  /** One sentence for the reference page, with the unit. */
  readonly describe: string
  /** Parses the variable's text; a schema with a default makes the setting optional. */
  readonly schema: z.ZodType<T, string | undefined>
  /** The default as one would write it, where it is not the parsed value: `900` seconds, or how it is found. */
  readonly defaultText?: string
}

export type Settings = Readonly<Record<string, Setting<unknown>>>
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never }

export class InvalidSettings extends KnownError {
  readonly code = "invalid_settings"
}

/**
 * Reads all settings of a process.
 * @throws InvalidSettings  naming every variable that is missing or cannot be read
 */
export function readSettings<S extends Settings>(settings: S, env: NodeJS.ProcessEnv): Values<S> {
  const problems: string[] = []
  const values = Object.entries(settings).map(([key, setting]) => {
    const text = env[setting.env] === "" ? undefined : env[setting.env]
    const parsed = setting.schema.safeParse(text)
    if (!parsed.success) {
      const expected = parsed.error.issues.map((issue) => issue.message).join(", ")
      problems.push(`${setting.env}: ${text === undefined ? "it must be set" : expected}. ${setting.describe}`)
    }
    return [key, parsed.data]
  })
  if (problems.length > 0) throw new InvalidSettings(`cannot start:\n  ${problems.join("\n  ")}`)
  return Object.fromEntries(values) as Values<S>
}

/** Markdown rows for the settings reference: name, default, sentence. */
export function describeSettings(settings: Settings): string[] {
  return Object.values(settings).map(
    (setting) => `| \`${setting.env}\` | ${shownDefault(setting)} | ${setting.describe} |`,
  )
}

function shownDefault({ schema, defaultText }: Setting<unknown>): string {
  if (defaultText !== undefined) return defaultText
  const fallback = schema.safeParse(undefined)
  if (!fallback.success) return "required"
  const { data } = fallback
  if (data === undefined || data === "") return "none"
  return `\`${typeof data === "object" ? JSON.stringify(data) : String(data)}\``
}
