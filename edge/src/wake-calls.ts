/** Answers requests of edges to wake a deployment (protocol/edge, "Wake socket"). */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Log } from "@superstep/toolkit/log/log"
import { showsToken } from "./edge-token.js"

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export interface WakeCalls {
  /** Does not listen yet. */
  readonly server: Server
  /** Resolves when nothing is open any more. */
  close(): Promise<void>
}

/** @param wake  records that the deployment with this id is needed */
export function wakeCalls(
  wake: (deploymentId: string) => Promise<unknown>,
  { log, token }: { readonly log: Log; readonly token: Secret },
): WakeCalls {
  const server = createServer((request, response) => {
    const [, deploymentId = ""] = /^\/wake\/([^/]+)$/.exec(request.url ?? "") ?? []
    const answer = (status: number) => response.writeHead(status).end()
    if (!showsToken(request.headers.authorization, token)) return answer(401)
    if (request.method !== "POST" || !uuid.test(deploymentId)) return answer(404)
    wake(deploymentId).then(
      () => answer(204),
      (err: unknown) => {
        log.warn({ err, deployment_id: deploymentId }, "a deployment could not be woken")
        answer(503)
      },
    )
  })
  const close = async () => {
    const closed = once(server, "close")
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { server, close }
}
