/** Asks the example what the printed commands ask, so that the first start ends with a streamed answer. */
import { type IncomingMessage, request as requestPlainly } from "node:http"
import { request as requestSecurely } from "node:https"
import { bodyOf, type Target } from "../output/try-it.js"

// Far more than a run that calls no model takes; a longer one hangs.
const timeoutMs = 30_000

/**
 * Waits for the first token of an answer. The rest is read and not used, since an agent stops where nobody reads.
 * The agent is on this machine, at an address that its certificate need not name, so certificates are not verified.
 * @returns  whether a token came; false for a refusal, an answer without a token, and after the signal
 */
export function streamsToken({ url, graph, apiKey }: Target, signal: AbortSignal): Promise<boolean> {
  const request = url.startsWith("https:") ? requestSecurely : requestPlainly
  const options = {
    method: "POST",
    headers: { "content-type": "application/json", ...(apiKey !== undefined && { "x-api-key": apiKey }) },
    agent: false,
    rejectUnauthorized: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }
  return new Promise((resolve) => {
    const onResponse = (response: IncomingMessage) => {
      const isSuccess = response.statusCode === 200
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
        if (isSuccess && /^event: messages$/m.test(text)) resolve(true)
      })
      response.on("error", () => resolve(false))
      response.on("end", () => resolve(false))
    }
    const asked = request(`${url}/runs/stream`, options, onResponse)
    // The caller says where the reason is logged.
    asked.on("error", () => resolve(false))
    asked.end(JSON.stringify(bodyOf(graph)))
  })
}
