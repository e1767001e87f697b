/** Commands that do what a page does. */
export interface ApiRequest {
  readonly method: string
  /** Whole, or from the root of the page's own server. */
  readonly url: string
  readonly body?: unknown
  /** False for servers that ask for no key; default true. */
  readonly hasKey?: boolean
  /** The workspace, for keys that may see several. */
  readonly workspaceId?: string | undefined
}

/** @returns  a command for a shell whose variable KEY holds the API key */
export function curlOf({ method, url, body, hasKey = true, workspaceId }: ApiRequest): string {
  return [
    "curl -s",
    ...(method === "GET" ? [] : [`-X ${method}`]),
    quoted(url),
    ...(hasKey ? [`-H "x-api-key: $KEY"`] : []),
    ...(workspaceId === undefined ? [] : [`-H ${quoted(`x-tenant-id: ${workspaceId}`)}`]),
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(" ")
}

/** As one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
