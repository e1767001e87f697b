/**
 * Reports mirrored deployments to the control plane: their whole state when it has changed, and their log lines in order. The control
 * plane says where its reports stand, so a lost call costs nothing: what it has not stored is sent again (L6).
 */
import { createHash } from "node:crypto"
import type { DeploymentState, ReportedLine } from "@superstep/protocol/listener/messages"
import type { Database } from "@superstep/toolkit/db/database"
import { shownLine } from "@superstep/toolkit/text/shown-line"
import { publicUrl } from "../../deployments/deployment.js"
import { healthOf, isRestarting, runStateOf } from "../../health/health.js"
import { linesAfter } from "../../logs/queries.js"
import { type CentralCalls, CentralFailed } from "./central.js"
import { type StateHere, statesHere } from "./state-queries.js"

// A message may say what is wrong with each of many fields; a report takes at most 2000 characters.
const longestProblem = 1000

/** Pure. @param agentsUrl  the public address of this installation's agents */
export function stateOf(row: StateHere, agentsUrl: string): DeploymentState {
  const { is_here: isHere, is_deleted: isDeleted, problem, revisions, health_facts: facts } = row
  return {
    is_ready: row.is_ready,
    url: row.custom_url ?? (row.route_name === null ? null : publicUrl(agentsUrl, row.route_name)),
    active_revision_id: row.active_revision_id,
    health: isHere ? healthOf(facts) : null,
    run_state: isHere ? runStateOf(facts) : null,
    is_restarting: isHere && isRestarting(facts),
    problem: problem === null ? null : shownLine(problem, longestProblem),
    is_gone: isDeleted && !isHere,
    revisions,
  }
}

/** How far the control plane is with the reports of a deployment. */
interface Progress {
  readonly reports: number
  readonly log_line_id: number
  /** Of the state that it stored last. */
  readonly sha256: string | undefined
}

// No report has this number, so the reply says which one was the last.
const unknown: Progress = { reports: -1, log_line_id: 0, sha256: undefined }

const mostLines = 500
// The control plane takes bodies of up to 1 MB; beside them is the state.
const mostBytes = 300_000

/** Whether one report was refused as such: the others can be sent. Pure. */
const isAboutOne = (error: unknown): error is CentralFailed =>
  error instanceof CentralFailed && [400, 409, 413, 422].includes(error.status ?? 0)

export class Reports {
  readonly #progress = new Map<string, Progress>()
  /** Deployments that may have lines which are not sent yet. */
  readonly #hasLines = new Set<string>()

  constructor(
    private readonly db: Database,
    private readonly calls: CentralCalls,
    private readonly agentsUrl: string,
  ) {}

  /** A deployment has new lines. @param deploymentId  undefined: any may have */
  noteLines(deploymentId?: string): void {
    for (const id of deploymentId === undefined ? this.#progress.keys() : [deploymentId]) this.#hasLines.add(id)
  }

  /** Sends all that is not reported yet. @throws CentralFailed  the rest is sent by the next call */
  async send(): Promise<void> {
    const rows = await statesHere(this.db)
    let refused: CentralFailed | undefined
    for (const row of rows) {
      try {
        await this.#sendOne(row.deployment_id, stateOf(row, this.agentsUrl))
      } catch (error) {
        if (!isAboutOne(error)) throw error
        refused = error
      }
    }
    const ids = new Set(rows.map((row) => row.deployment_id))
    for (const id of this.#progress.keys()) if (!ids.has(id)) this.#progress.delete(id)
    for (const id of this.#hasLines) if (!ids.has(id)) this.#hasLines.delete(id)
    if (refused) throw refused
  }

  async #sendOne(id: string, state: DeploymentState): Promise<void> {
    const sha256 = createHash("sha256").update(JSON.stringify(state)).digest("hex")
    for (;;) {
      const { reports: after, ...last } = this.#progress.get(id) ?? unknown
      const isKnown = after >= 0
      const lines = isKnown && this.#hasLines.has(id) ? await this.#linesAfter(id, last.log_line_id) : []
      if (isKnown && lines.length === 0) this.#hasLines.delete(id)
      if (last.sha256 === sha256 && lines.length === 0) return
      const reply = await this.#report(id, after, state, lines)
      if (!reply) return
      const { is_accepted: isAccepted, ...progress } = reply
      this.#progress.set(id, { ...progress, sha256: isAccepted ? sha256 : undefined })
      // What was stored while this process did not look.
      if (!isKnown) this.#hasLines.add(id)
    }
  }

  async #linesAfter(id: string, after: number): Promise<ReportedLine[]> {
    let bytes = 0
    const lines = await linesAfter(this.db, id, { after, limit: mostLines })
    return lines.filter((line, n) => {
      bytes += Buffer.byteLength(line.message) + 300
      return n === 0 || bytes <= mostBytes
    })
  }

  /** @returns  undefined when the control plane has no such deployment for this listener (any more) */
  async #report(id: string, after: number, state: DeploymentState, lines: ReportedLine[]) {
    try {
      return await this.calls.report({ deployment_id: id, after, state, lines })
    } catch (error) {
      if (error instanceof CentralFailed && error.status === 404) return undefined
      throw error
    }
  }
}
