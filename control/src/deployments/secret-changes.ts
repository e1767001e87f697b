/** Computes the result of a change of secrets (CP-D6). Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { repeatedNames, type SecretValue, secretMask } from "../secrets/secret.js"

/** A secret in a change; null removes it. */
export interface SecretChange {
  readonly name: string
  readonly value: string | null
}

/** `replace`: the given list is the whole set. `merge`: secrets that are not named stay. */
export const secretsModes = ["replace", "merge"] as const
export type SecretsMode = (typeof secretsModes)[number]

/**
 * The whole set after a change. An empty list changes nothing, as with the original, unless the mode says that the list is
 * exact. Without a mode a list replaces the set, except that one which removes a name is an edit and keeps the others.
 * @param stored  the names of the present set
 * @returns       the whole set, in which unchanged values are masked; undefined when nothing changes
 * @throws InvalidInput  a name is given twice
 */
export function nextSecrets(
  stored: readonly string[],
  { secrets, mode }: { readonly secrets: readonly SecretChange[] | undefined; readonly mode: SecretsMode | undefined },
): SecretValue[] | undefined {
  if (secrets === undefined || (secrets.length === 0 && mode !== "replace")) return undefined
  const problems = repeatedNames(secrets)
  if (problems.length > 0) throw new InvalidInput(problems)
  const given = secrets.flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]))
  const isEdit = mode ? mode === "merge" : given.length < secrets.length
  if (!isEdit) return given
  const named = new Set(secrets.map(({ name }) => name))
  return [...given, ...stored.filter((name) => !named.has(name)).map((name) => ({ name, value: secretMask }))]
}
