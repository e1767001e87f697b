/**
 * Which headers of a message are forwarded to the next hop. Every hop uses these two functions. Pure.
 * Headers are a flat list, as in `IncomingMessage.rawHeaders`: name, value, name, value.
 */

/** Headers that describe only one connection (RFC 9110 §7.6.1); `http2-settings` belongs to an upgrade that no hop makes. */
const hopByHop = new Set([
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["proxy-authenticate", "proxy-authorization", "http2-settings"],
])

/** `Connection` may name headers that are not forwarded. It must not remove these, which name the request's target. */
const keptAlways = new Set(["host"])

const nothing = (): boolean => false

/**
 * The headers of a request for the next hop. `Content-Length` is not among them: the client that sends the request frames
 * its body. Nor is `Expect`, which this hop's server has already answered.
 * @param stops  whether a header, by its lower-case name, is not forwarded either
 */
export const requestHeadersOnward = (
  headers: readonly string[],
  stops: (name: string) => boolean = nothing,
): string[] => onward(headers, (name) => name === "content-length" || name === "expect" || stops(name))

/**
 * The headers of a response for the previous hop. `Content-Length` stays: the client that read the response has compared it
 * with the body, and for HEAD and 304 it describes a body that is not sent.
 */
export const answerHeadersOnward = (headers: readonly string[]): string[] => onward(headers, nothing)

function onward(headers: readonly string[], stops: (name: string) => boolean): string[] {
  const listed = namesInConnection(headers)
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]]
    const lower = name.toLowerCase()
    if (!hopByHop.has(lower) && !listed.has(lower) && !stops(lower)) kept.push(name, value)
  }
  return kept
}

function namesInConnection(headers: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() !== "connection") continue
    for (const name of (headers[at + 1] ?? "").split(",")) names.add(name.trim().toLowerCase())
  }
  for (const name of keptAlways) names.delete(name)
  return names
}

/** The first value of a header; undefined when it is absent. @param name  in lower case */
export function headerValue(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name)
  return at < 0 ? undefined : headers[at + 1]
}
