/** The network of an installation's units: they reach out, and not each other. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { labels } from "./container.js"
import type { Engine } from "./engine.js"

export const ownNetwork = (homeId: string): string => `superstep-${homeId.replaceAll("-", "").slice(-12)}`

/** The engine has a network of our name that is not ours, so containers in it could reach each other. */
export class ForeignNetwork extends KnownError {
  readonly code = "foreign_network"
  constructor(name: string) {
    super(`the engine has a network ${name} of somebody else: remove it, or set SUPERSTEP_DOCKER_NETWORK`)
  }
}

interface InspectedNetwork {
  readonly Labels?: Readonly<Record<string, string>> | null
}

/** @returns  whether a network of our name exists and is ours; undefined when there is none */
async function findNetwork(engine: Engine, homeId: string): Promise<boolean | undefined> {
  const { status, body } = await engine.json<InspectedNetwork>(`/networks/${ownNetwork(homeId)}`, { also: [404] })
  return status === 404 ? undefined : body.Labels?.[labels.home] === homeId
}

/**
 * Creates the network unless it exists.
 * @throws ForeignNetwork
 */
export async function ensureNetwork(engine: Engine, homeId: string): Promise<string> {
  const name = ownNetwork(homeId)
  const body = {
    Name: name,
    Driver: "bridge",
    CheckDuplicate: true,
    Labels: { [labels.home]: homeId },
    // Without it deployments could connect to each other.
    Options: { "com.docker.network.bridge.enable_icc": "false" },
  }
  // 409: another start has created it meanwhile.
  if ((await findNetwork(engine, homeId)) === undefined)
    await engine.json("/networks/create", { method: "POST", body, also: [409] })
  if ((await findNetwork(engine, homeId)) !== true) throw new ForeignNetwork(name)
  return name
}

/** Does nothing while a container is in it, or when there is none of ours. */
export async function removeNetwork(engine: Engine, homeId: string): Promise<void> {
  if ((await findNetwork(engine, homeId)) !== true) return
  await engine.json(`/networks/${ownNetwork(homeId)}`, { method: "DELETE", also: [403, 404] })
}
