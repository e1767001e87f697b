/** Handles messages of other servers. */
import type { LocalServer } from "../servers/peers.js"
import type { ClaimLoop } from "./claim-loop.js"
import type { Executor } from "./executor.js"

export const localServer = (loop: ClaimLoop, executor: Executor): LocalServer => ({
  look: (kind) => loop.look(kind),
  cancel: (runId) => executor.cancel(runId),
  room: () => ({ freeSlots: executor.freeSlots(), freeSoloSlots: executor.freeSoloSlots() }),
  lookForAll: () => {
    loop.lookForAll()
    void executor.renew()
  },
})
