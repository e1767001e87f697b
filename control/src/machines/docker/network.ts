/** The network of an installation's units: they reach out, and not each other. */
import { labels } from "./container.js"
import type { Engine } from "./engine.js"

export const ownNetwork = (homeId: string): string => `superstep-${homeId.replaceAll("-", "").slice(-12)}`

/** Creates the network unless it exists. */
export async function ensureNetwork(engine: Engine, homeId: string): Promise<string> {
  const name = ownNetwork(homeId)
  const found = await engine.json(`/networks/${name}`, { also: [404] })
  if (found.status !== 404) return name
  const body = {
    Name: name,
    Driver: "bridge",
    CheckDuplicate: true,
    Labels: { [labels.home]: homeId },
    // Without it deployments could connect to each other.
    Options: { "com.docker.network.bridge.enable_icc": "false" },
  }
  // 409: another start has created it meanwhile.
  await engine.json("/networks/create", { method: "POST", body, also: [409] })
  return name
}

/** Does nothing while a container is in it, or when there is none. */
export async function removeNetwork(engine: Engine, homeId: string): Promise<void> {
  await engine.json(`/networks/${ownNetwork(homeId)}`, { method: "DELETE", also: [403, 404] })
}
