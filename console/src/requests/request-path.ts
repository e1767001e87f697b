/**
 * Paths of requests. Anybody can make a link to a page of the console, and ids in its address become parts of paths: each
 * stays one segment, so no link leads a signed-in person's request to another route.
 */

/**
 * A template tag: `` requestPath`/threads/${threadId}/state` ``.
 * @throws Error  a value is empty, "." or "..", which no encoding keeps a segment of its own
 */
export function requestPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((path, text, n) => path + segmentOf(values[n - 1] ?? "") + text)
}

function segmentOf(value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new Error(`"${value}" in the address of this page is no id.`)
  return encodeURIComponent(value)
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether all parameters of a route are UUIDs, as the ids of deployments, revisions, threads and runs are. */
export const areIds = (params: Readonly<Record<string, string>>): boolean =>
  Object.values(params).every((value) => uuid.test(value))
