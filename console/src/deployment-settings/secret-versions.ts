/** Since which version of its secrets a deployment has one. Pure. */

interface ReadRevisions {
  /** The newest first. */
  readonly resources: readonly { readonly secrets_version: number; readonly secret_names: readonly string[] }[]
  readonly mayHaveOlder: boolean
}

/** The version of the oldest of the newest revisions in a row that have the name. */
export function sinceText(name: string, { resources, mayHaveOlder }: ReadRevisions): string {
  const without = resources.findIndex(({ secret_names }) => !secret_names.includes(name))
  const oldest = (without < 0 ? resources : resources.slice(0, without)).at(-1)
  if (!oldest) return "the next revision"
  return `version ${oldest.secrets_version}${without < 0 && mayHaveOlder ? " or before" : ""}`
}
