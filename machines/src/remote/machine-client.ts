/** The control plane's side: the machine of another process as a `Host`. */
import type { Log } from "@superstep/toolkit/log/log"
import type { Facts } from "../parts/compose-machine.js"
import { listenForWakeCalls } from "../parts/edge/wake-socket.js"
import { unitAddress } from "../parts/units/unit-address.js"
import type { Host } from "../port/host.js"
import { type Areas, type Installation, table } from "./calls.js"
import type { Channel } from "./channel.js"

export interface RemoteMachine extends Host, Pick<Installation, "onSignal"> {
  readonly homeId: string
}

export async function remoteMachine(channel: Channel, log: Log): Promise<RemoteMachine> {
  const areas = remoteAreas(channel)
  return machineOf(areas, await areas.installation.facts(), log)
}

/** Pure. */
export function machineOf(areas: Areas, facts: Facts, log: Log): RemoteMachine {
  const { units, builds, artifacts, edge, keyFiles, installation } = areas
  return {
    units: { ...units, address: (unitId) => unitAddress(facts, unitId) },
    builds,
    artifacts,
    edge: { ...edge, url: facts.edgeUrl },
    keyFiles,
    listenForWakeCalls: (wake) => listenForWakeCalls(facts.wakeSocket, wake, { log, token: facts.wakeToken }),
    stopAll: installation.stopAll,
    onSignal: installation.onSignal,
    homeId: facts.homeId,
  }
}

/** A function for each line of the table. */
export function remoteAreas(channel: Channel): Areas {
  const areas = Object.entries(table).map(([area, methods]) => {
    const functions = Object.keys(methods).map((method) => {
      const call = (...args: readonly unknown[]) => channel.call(`${area}.${method}`, args)
      return [method, call] as const
    })
    return [area, Object.fromEntries(functions)] as const
  })
  return Object.fromEntries(areas) as unknown as Areas
}
