/** The containers of an installation, for programs that only find and stop them. */

import type { MachineFolders } from "../parts/files/folders.js"
import type { Units } from "../port/port.js"
import { containersOf } from "./containers.js"
import { engineAt } from "./engine.js"
import { dockerUnits } from "./units.js"

/** @returns  units that cannot be started */
export function foundDockerUnits(folders: MachineFolders, homeId: string, engineSocket: string): Units {
  const engine = engineAt(engineSocket)
  const refuse = () => Promise.reject(new Error("these units are only found and stopped"))
  return dockerUnits({
    folders,
    isolation: { user: () => undefined },
    engine,
    containers: containersOf(engine, homeId),
    images: { ensure: refuse, ensureRuntime: refuse, remove: refuse },
    guests: { ensure: refuse },
    homeId,
    network: "none",
    environment: {},
    publishes: false,
  })
}
