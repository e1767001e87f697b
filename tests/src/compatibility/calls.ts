/** What a client method did over the wire, and how it went. */

/** One request: method and path without the query. */
export interface Request {
  readonly method: string
  readonly path: string
}

/** A method of an official client, such as `threads.getState`, after it was called. */
export interface Called {
  readonly client: string
  readonly requests: readonly Request[]
  /** Why it failed; undefined when it did what it promises. */
  readonly failure: string | undefined
}

/** The route of the OpenAPI document that a request belongs to, such as `GET /threads/{thread_id}`. */
export function routeOf({ method, path }: Request, templates: readonly string[]): string | undefined {
  const segments = path.split("/")
  const fits = (template: string) => {
    const [verb, pattern = ""] = template.split(" ")
    const parts = pattern.split("/")
    return (
      verb === method &&
      parts.length === segments.length &&
      parts.every((part, index) => part.startsWith("{") || part === segments[index])
    )
  }
  // `/runs/crons/search` is itself before it is some `/runs/crons/{cron_id}`.
  return templates.filter(fits).sort((a, b) => a.split("{").length - b.split("{").length)[0]
}
