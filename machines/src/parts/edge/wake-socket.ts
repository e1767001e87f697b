/** The Unix socket at which the edge of this computer asks to wake a deployment. */
import { once } from "node:events"
import { chmod, rm } from "node:fs/promises"
import type { Server } from "node:http"
import { wakeCalls } from "@superstep/edge/wake-calls"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Log } from "@superstep/toolkit/log/log"

/**
 * Listens where only this user and the edge may connect. What a killed control plane left at the path is replaced. The end removes
 * the file at the path, whoever created it: one control plane must have ended this before the next one begins.
 * @param wake  records that the deployment with this id is needed
 * @returns     a function that ends it
 */
export async function listenForWakeCalls(
  path: string,
  wake: (deploymentId: string) => Promise<unknown>,
  options: { readonly log: Log; readonly token: Secret },
): Promise<() => Promise<void>> {
  const { server, close } = wakeCalls(wake, options)
  await rm(path, { force: true })
  await listenPrivately(server, path)
  // The edge is in our group, and the folder admits nobody else.
  await chmod(path, 0o660)
  return close
}

async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, "listening")
  // Node binds a path within this call, so no other file is made under this mask.
  const mask = process.umask(0o177)
  server.listen(path)
  process.umask(mask)
  await listening
}
