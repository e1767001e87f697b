/** What a change of secrets asks for (CP-D6). Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { repeatedNames, type SecretValue, secretMask } from "../secrets/secret.js"

/** A secret as a change sends it; null takes it away. */
export interface SecretChange {
  readonly name: string
  readonly value: string | null
}

/** `replace`: what is sent is the whole set. `merge`: what is not named stays. */
export const secretsModes = ["replace", "merge"] as const
export type SecretsMode = (typeof secretsModes)[number]

/**
 * The whole set that a change leads to. An empty list changes nothing, as with the original, unless the mode says that
 * it is exact. Without a mode a list replaces; one that takes a name away is an edit, and leaves what it does not name.
 * @param stored  the names that there are
 * @returns       what stays bears the mask; undefined when nothing changes
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
