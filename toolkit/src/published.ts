/**
 * What is published, and under which name. Printed commands and the check of our pages (scripts/checks/check-published.mjs) follow from it, so that no
 * page and no program prints a name that somebody else could register. docs/releasing.md says when it changes.
 */
export interface Published {
  /** The package at npm's registry. The one for `npm create` has this name with `create-` before it. */
  readonly npmPackage?: string
  /** The package at Python's index. */
  readonly pythonPackage?: string
  /** Registry and repository of the container image, without a tag. */
  readonly image?: string
  /** The address of the Helm chart, `oci://…`, without a version. */
  readonly chart?: string
  /** The address of the documentation, `https://…`, without a slash at its end. */
  readonly docsSite?: string
}

/** Nothing is published yet. */
export const published: Published = {}

/**
 * @param page    a file of docs/ without its ending, such as `errors`
 * @param anchor  without `#`
 * @returns       the address at the published site, else the path in the repository: `docs/errors.md#thread_busy`
 */
export function docsAddress(page: string, anchor?: string, { docsSite }: Published = published): string {
  const place = docsSite === undefined ? `docs/${page}.md` : `${docsSite}/${page}`
  return anchor === undefined ? place : `${place}#${anchor}`
}
