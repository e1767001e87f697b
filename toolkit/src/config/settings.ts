/**
 * Settings of a process: each has a name, a default and a description; the environment is read once, and all problems
 * are reported together. The reference page is generated from the same definitions.
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

/** Secrets by name. */
export type Secrets = Readonly<Record<string, Secret>>

export const secretsOf = (values: Readonly<Record<string, string>>): Secrets =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, new Secret(value)]))

/** The values themselves, at the one place that needs them. */
export const revealAll = (secrets: Secrets): Record<string, string> =>
  Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]))

export interface Setting<T> {
  /** Name of the environment variable, such as `SUPERSTEP_PORT`. */
  readonly env: string
  /** One sentence for the reference page, with the unit. */
  readonly describe: string
  /** Parses the variable's text; a schema with a default makes the setting optional. */
  readonly schema: z.ZodType<T, string | undefined>
  /** The default as a user would write it, if it differs from the parsed value: `900` seconds, or how it is determined. */
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
      problems.push(`${setting.env}: ${text === undefined ? "required" : expected}. ${setting.describe}`)
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
