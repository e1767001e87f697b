/** The port at which edges in other places ask to wake a deployment. */
import { once } from "node:events"
import { wakeCalls } from "@superstep/edge/wake-calls"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Log } from "@superstep/toolkit/log/log"

/**
 * @param wake  records that the deployment with this id is needed
 * @returns     a function that ends it
 */
export async function listenForWakeCallsAt(
  { host, port }: { readonly host: string; readonly port: number },
  wake: (deploymentId: string) => Promise<unknown>,
  options: { readonly log: Log; readonly token: Secret },
): Promise<() => Promise<void>> {
  const { server, close } = wakeCalls(wake, options)
  const listening = once(server, "listening")
  server.listen({ host, port })
  await listening
  return close
}
