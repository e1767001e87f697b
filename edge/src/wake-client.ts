/** Asks the control plane to wake a deployment, the only request that the edge sends it (protocol/edge, "Wake socket"). */
import { request as httpRequest } from "node:http"
import { connectOptions } from "@superstep/protocol/http/address"
import type { Config } from "./config.js"
import { tokenHeader } from "./edge-token.js"

// The control plane only writes one row.
const timeoutMs = 5000

/** @throws Error  the control plane does not answer, or refuses */
export function askToWake(
  { wakeAddress, token }: Pick<Config, "wakeAddress" | "token">,
  deploymentId: string,
): Promise<void> {
  const path = `/wake/${encodeURIComponent(deploymentId)}`
  const signal = AbortSignal.timeout(timeoutMs)
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { ...connectOptions(wakeAddress), method: "POST", path, headers: tokenHeader(token), signal, agent: false },
      (response) => {
        response.resume()
        if (response.statusCode === 204) resolve()
        else reject(new Error(`the control plane answered ${response.statusCode}`))
      },
    )
    request.once("error", reject)
    request.end()
  })
}
