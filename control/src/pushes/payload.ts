/** The common parts of all hosts' payloads. Pure. */
import { checkForeign } from "@superstep/toolkit/text/check-foreign"
import { z } from "zod"

export const text = z.string().nullish()

/** @throws ZodError  with the first problem of a large payload, else with all of them */
export function parsePayload<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> {
  const { data, error } = checkForeign(schema, payload)
  if (error) throw error
  return data
}
const paths = z.array(z.string()).nullish()

export const commits = z.array(
  z.object({ id: z.string(), message: z.string().nullish(), added: paths, modified: paths, removed: paths }),
)

export const addresses = (values: readonly (string | null | undefined)[]): string[] =>
  values.filter((value): value is string => typeof value === "string" && value !== "")

/** Hosts write forty zeros where there is no commit: before a branch is created, and after it is deleted. */
export const isNoCommit = (sha: string | null | undefined): boolean => !sha || /^0+$/.test(sha)

const shaForm = /^[0-9a-f]{40}$/
const fullShaSchema = z.string().regex(shaForm, "expected a full commit id")

/** @throws ZodError  any other text, which git would get as a name */
export const fullSha = (sha: string): string => fullShaSchema.parse(sha)

/** For hosts that may shorten it. */
export const fullShaOrNone = (sha: string): string | undefined => (shaForm.test(sha) ? sha : undefined)

export const changedPathsOf = (list: z.output<typeof commits>): string[] => [
  ...new Set(
    list.flatMap(({ added, modified, removed }) => [...(added ?? []), ...(modified ?? []), ...(removed ?? [])]),
  ),
]
