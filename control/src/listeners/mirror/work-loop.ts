/** Asks the control plane what has changed, and carries it out here (L7). */
import { longestWaitMs } from "@superstep/protocol/listener/calls"
import type { WantedDeployment } from "@superstep/protocol/listener/messages"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { type CentralCalls, CentralFailed } from "./central.js"
import { ensureWorkspace, type Mirror, mirrorCallers, mirrorDeployment } from "./mirror-operations.js"
import { forgetMirrored, type Mirrored, mirroredDeployments, saveMirrored } from "./mirror-queries.js"

export class Work {
  #knownCallers = ""

  constructor(
    private readonly mirror: Mirror & { readonly log: Log },
    private readonly calls: CentralCalls,
  ) {}

  /**
   * One call, which waits until something is to be done, and what follows from it.
   * @returns  false when something could not be done: it comes again with the next call
   * @throws CentralFailed
   */
  async next(): Promise<boolean> {
    const { db } = this.mirror
    const mirrored = await mirroredDeployments(db)
    const reply = await this.calls.work({
      known: Object.fromEntries(mirrored.filter(isKnown).map((it) => [it.deployment_id, it.version])),
      known_callers: this.#knownCallers,
      wait_ms: longestWaitMs,
    })
    await ensureWorkspace(db, reply.workspace_id)
    if (reply.callers) {
      await mirrorCallers(db, reply.workspace_id, reply.callers)
      this.#knownCallers = reply.callers.version
    }
    const done = []
    for (const wanted of reply.changed) done.push(await this.#carryOut(reply.workspace_id, wanted))
    await this.#forget(mirrored.filter((it) => !reply.assigned.includes(it.deployment_id)))
    return done.every(Boolean)
  }

  async #carryOut(workspaceId: string, wanted: WantedDeployment): Promise<boolean> {
    const { db, log } = this.mirror
    const { deployment_id: deploymentId, is_deleted: isDeleted } = wanted
    try {
      await mirrorDeployment(this.mirror, this.calls, workspaceId, wanted)
      log.info({ deployment_id: deploymentId, version: wanted.version }, "deployment mirrored")
      return true
    } catch (error) {
      if (error instanceof CentralFailed) throw error
      // The others are not to wait for it, whatever it is.
      log.warn({ err: error, deployment_id: deploymentId }, "a deployment cannot be mirrored; it is tried again")
      const problem =
        error instanceof KnownError ? error.message : "an internal error: see the log of that installation"
      await saveMirrored(db, { deploymentId, version: "", problem, isDeleted })
      return false
    }
  }

  /** The control plane has removed its row: after our report that it is gone, or because somebody did not wait for it. */
  async #forget(lost: readonly Mirrored[]): Promise<void> {
    for (const { deployment_id: deploymentId, is_here: isHere } of lost) {
      await forgetMirrored(this.mirror.db, deploymentId)
      if (!isHere) continue
      const words = "the control plane does not know this deployment any more; it goes on here until it is deleted here"
      this.mirror.log.warn({ deployment_id: deploymentId }, words)
    }
  }
}

/** One that somebody deleted here comes again. Pure. */
const isKnown = ({ is_here, is_deleted }: Mirrored): boolean => is_here || is_deleted
