/** Takes requests of the edge to wake a deployment (protocol/edge, "Wake socket"). */
import { once } from "node:events"
import { chmod, rm } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Log } from "@superstep/toolkit/log/log"
import { showsToken } from "../../../edge/edge-token.js"

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Listens where only this user and the edge may connect. What a killed control plane left at the path is replaced. The end removes
 * the file at the path, whoever created it: one control plane must have ended this before the next one begins.
 * @param wake  records that the deployment with this id is needed
 * @returns     a function that ends it
 */
export async function listenForWakeCalls(
  path: string,
  wake: (deploymentId: string) => Promise<unknown>,
  { log, token }: { readonly log: Log; readonly token: Secret },
): Promise<() => Promise<void>> {
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
  await rm(path, { force: true })
  await listenPrivately(server, path)
  // The edge is in our group, and the folder admits nobody else.
  await chmod(path, 0o660)
  return async () => {
    const closed = once(server, "close")
    server.close()
    server.closeAllConnections()
    await closed
  }
}

async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, "listening")
  // Node binds a path within this call, so no other file is made under this mask.
  const mask = process.umask(0o177)
  server.listen(path)
  process.umask(mask)
  await listening
}
