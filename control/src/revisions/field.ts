/**
 * What follows from a table of fields (`source-config.ts`, `source-revision-config.ts`): its types, the format of requests and replies,
 * and copies for previews and listeners. A field without an answer in one of the columns does not compile. Pure.
 */
import type { z } from "@hono/zod-openapi"

/** What a copy of a config has: the same value; null; false in place of true; or a value that is given to the copy. */
type Copied = "same" | "empty" | "off" | "given"

/** The columns of every table. The empty value of every field is null, since null in a request changes nothing. */
export interface Field {
  /** The format in a request, from which the type follows; null: callers cannot send it, and the type follows from the reply. */
  readonly input: z.ZodType | null
  /** The format in a reply; null: another part of the reply shows it. */
  readonly reply: z.ZodType | null
  /** What the deployment of a pull request has. */
  readonly preview: Copied
  /** What the installation of a listener has. */
  readonly listener: Copied
}
type Fields = Readonly<Record<string, Field>>
type Schema<F extends Field> = F["input"] extends z.ZodType ? F["input"] : F["reply"]

/** A config as it is stored; rows of earlier releases lack the fields that came later (`shownOf`). */
export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: z.output<Schema<F[K]>> | null }

/** The names of the fields for which this holds, in the order of the table. */
export const namesWhere = <F extends Fields>(fields: F, holds: (field: F[keyof F & string]) => boolean) =>
  (Object.keys(fields) as (keyof F & string)[]).filter((name) => holds(fields[name]))

const mapped = (fields: Fields, answerOf: (field: Field, name: string) => unknown): object =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, field]) => [name, answerOf(field, name)])
      .filter(([, value]) => value !== undefined),
  )

/** The empty value of each field. */
export const emptyOf = <F extends Fields>(fields: F) => mapped(fields, () => null) as { readonly [K in keyof F]: null }

type Having<F extends Fields, Column extends "input" | "reply"> = {
  [K in keyof F]: F[K][Column] extends null ? never : K
}[keyof F]

/** The fields of a request. */
export const inputsOf = <F extends Fields>(fields: F) =>
  mapped(fields, ({ input }) => input?.nullish()) as {
    readonly [K in Having<F, "input">]: z.ZodOptional<z.ZodNullable<NonNullable<F[K]["input"]>>>
  }

/** The fields of a reply. */
export const repliesOf = <F extends Fields>(fields: F) =>
  mapped(fields, ({ reply }) => reply?.nullable()) as {
    readonly [K in Having<F, "reply">]: z.ZodNullable<NonNullable<F[K]["reply"]>>
  }

/** What a reply has of a row's config, also of one that an earlier release has written. */
export const shownOf = <F extends Fields>(fields: F, config: ValuesOf<F>) =>
  Object.fromEntries(
    Object.entries({ ...config, ...mapped(fields, (_, name) => config[name] ?? null) }).filter(
      ([name]) => fields[name]?.reply !== null,
    ),
  ) as Pick<ValuesOf<F>, Having<F, "reply">>

/** A copy for a preview or a listener. @param given  the fields whose answer in that column is "given" */
export const copyFor = <F extends Fields, Where extends "preview" | "listener">(
  where: Where,
  fields: F,
  config: ValuesOf<F>,
  given: { readonly [K in keyof F as F[K][Where] extends "given" ? K : never]: ValuesOf<F>[K] },
): ValuesOf<F> => ({
  ...config,
  ...mapped(fields, (field, name) => {
    if (field[where] === "off" && config[name]) return false
    return field[where] === "empty" ? null : undefined
  }),
  ...given,
})
