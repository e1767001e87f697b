/** The log endpoint of a kubelet, as the API server calls it. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { TestContainer } from "./test-container.js"

export function serveLogs(
  container: TestContainer | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (!container) {
    response.writeHead(400).end("the container has no log")
    return
  }
  const { searchParams: query } = new URL(request.url ?? "/", "https://node")
  const since = query.get("sinceTime")
  const hasTimes = query.get("timestamps") === "true"
  let next = query.get("tailLines") === "0" ? container.lines.length : 0
  response.writeHead(200, { "content-type": "text/plain" })
  response.flushHeaders()
  const send = () => {
    if (response.writableEnded) return
    for (const { time, text } of container.lines.slice(next)) {
      // The parameter has whole seconds.
      if (since !== null && Date.parse(time) < Date.parse(since)) continue
      response.write(hasTimes ? `${time} ${text}\n` : `${text}\n`)
    }
    next = container.lines.length
    if (container.end || query.get("follow") !== "true") response.end()
  }
  const stop = container.onChange(send)
  response.once("close", stop)
  send()
}
