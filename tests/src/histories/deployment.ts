/**
 * One deployment as a sequential object: which answer the control plane and the edge may give in which state. Pure. The rules are those of
 * control/src/deployments (D9 … D11), revisions (V1, V4), pipeline (P3, P6) and planner.
 *
 * Revisions move on by themselves: how far they are shows only in reads.
 */
import type { OutcomeWith, Recorded } from "./call.js"
import type { SequentialObject } from "./search.js"

/** Revisions are named by their clients, in their message. */
export type DeploymentOperation =
  /** A PATCH: other code, or another secret. */
  | { readonly op: "patch"; readonly revision: string; readonly ref: string }
  | { readonly op: "patch"; readonly revision: string; readonly mark: string }
  | {
      readonly op: "create"
      readonly revision: string
      readonly ref: string
      readonly onConflict?: "queue" | "supersede"
    }
  | { readonly op: "redeploy"; readonly revision: string; readonly of: string }
  /** Without `of`: to the last good one. */
  | { readonly op: "rollback"; readonly revision: string; readonly of?: string }
  | { readonly op: "interrupt" | "promote" | "abort"; readonly of: string }
  /** Reads of a revision; of the deployment; of the public address; of all revisions, oldest first. */
  | { readonly op: "revision"; readonly of: string }
  | { readonly op: "deployment" | "address" | "list" }

export interface DeploymentValue {
  readonly status?: string
  readonly error?: string | null
  readonly ref?: string
  readonly repeats?: string | null
  readonly latest?: string
  readonly active?: string | null
  /** Which revision answered, and with which secret. */
  readonly serves?: string
  readonly mark?: string | undefined
  readonly names?: readonly string[]
}

export type DeploymentCall = Recorded<DeploymentOperation, DeploymentValue>

/** `early`: any newer revision skips it. `late`: it is built or started. `committed`: past the point of no return. */
const phases = ["early", "late", "committed", "serving", "active", "ended"] as const
type Phase = (typeof phases)[number]

interface Revision {
  readonly name: string
  readonly phase: Phase
  /** How it ended. */
  readonly status?: string
  readonly ref: string
  readonly mark: string | undefined
  readonly repeats?: string
  /** Gets a part of the threads before it serves. `gone`: aborted or replaced. */
  readonly canary?: "wanted" | "is" | "promoted" | "gone"
}

export interface Deployment {
  /** In the order of their numbers. */
  readonly revisions: readonly Revision[]
  /** To which the edge is to send, and to which it sends. */
  readonly serving: string
  readonly edge: string
  /** Serves again when the one that serves fails. */
  readonly standby: string | undefined
  readonly active: string
}

export interface DeploymentStart {
  readonly first: string
  readonly ref: string
  /** Whether each revision with other code or secrets is a canary first. */
  readonly hasCanaries: boolean
}

/** @param history  says how revisions ended and in which order they are: states that contradict it are not tried */
export function deploymentObject(
  { first, ref, hasCanaries }: DeploymentStart,
  history: readonly DeploymentCall[],
): SequentialObject<Deployment, DeploymentCall> {
  const known = knownOf(history)
  const revision: Revision = { name: first, phase: "ended", status: "DEPLOYED", ref, mark: undefined }
  const start = { revisions: [revision], serving: first, edge: first, standby: undefined, active: first }
  return {
    start,
    step: (state, { what, outcome }) =>
      step(state, what, outcome, hasCanaries).filter((after) => after === state || fits(after, known)),
    drift: (state) => drift(state).filter((after) => fits(after, known)),
    key: (state) => JSON.stringify(state),
  }
}

interface Known {
  readonly order: readonly string[] | undefined
  readonly ends: ReadonlyMap<string, string>
}

function knownOf(history: readonly DeploymentCall[]): Known {
  const values = history.flatMap(({ what, outcome }) =>
    outcome.is === "ok" && outcome.value ? [{ what, ...outcome.value }] : [],
  )
  const ends = values.flatMap(({ what, status }) =>
    what.op === "revision" && status !== undefined && isFinal(status) ? [[what.of, status] as const] : [],
  )
  return { order: values.findLast(({ names }) => names !== undefined)?.names, ends: new Map(ends) }
}

const isFinal = (status: string): boolean => /^(DEPLOYED|SKIPPED|INTERRUPTED)$|FAILED$/.test(status)

const fits = ({ revisions }: Deployment, { order, ends }: Known): boolean =>
  revisions.every(({ name, status }, at) => {
    const end = ends.get(name)
    return (!order || order[at] === name) && (status === undefined || end === undefined || end === status)
  })

const after = (revision: Revision, phase: Phase): boolean => phases.indexOf(revision.phase) >= phases.indexOf(phase)
const isOpen = ({ phase }: Revision): boolean => phase !== "ended"

const changed = (state: Deployment, name: string, change: Partial<Revision>): Deployment => ({
  ...state,
  revisions: state.revisions.map((one) => (one.name === name ? { ...one, ...change } : one)),
})
const ended = (state: Deployment, name: string, status: string): Deployment =>
  changed(state, name, { phase: "ended", status })

/** What may happen next by itself. */
function drift(state: Deployment): Deployment[] {
  const { revisions } = state
  const open = revisions.filter(isOpen)
  const newest = open.at(-1)
  const skips = open
    .filter(
      (one) => one !== newest && (one.phase === "early" || (one.phase === "late" && newest?.repeats !== undefined)),
    )
    .map(({ name }) => ended(state, name, "SKIPPED"))
  const edge = state.edge === state.serving ? [] : [{ ...state, edge: state.serving }]
  const promotions = revisions
    .filter(({ canary }) => canary === "promoted")
    .map(({ name }) => ({ ...serveWith(state, name), active: name }))
  // One at a time, the oldest first (P3).
  return [...skips, ...edge, ...promotions, ...(open[0] ? movedOn(state, open[0]) : [])]
}

function movedOn(state: Deployment, { name, phase, canary }: Revision): Deployment[] {
  const failed = (status: string) => ended(state, name, status)
  switch (phase) {
    case "early":
      return [changed(state, name, { phase: "late" }), failed("CREATE_FAILED"), failed("BUILD_FAILED")]
    case "late":
      return [changed(state, name, { phase: "committed" }), failed("BUILD_FAILED"), failed("DEPLOY_FAILED")]
    case "committed":
      if (canary === "wanted") return [becameCanary(state, name), failed("DEPLOY_FAILED")]
      return [changed(serveWith(state, name), name, { phase: "serving" }), failed("DEPLOY_FAILED")]
    case "serving":
      if (state.edge !== name) return [switchedBack(state, name)]
      return [{ ...changed(state, name, { phase: "active" }), active: name }, switchedBack(state, name)]
    case "active":
      return canary ? [ended(state, name, "DEPLOYED")] : [ended(state, name, "DEPLOYED"), switchedBack(state, name)]
    case "ended":
      return []
  }
}

function serveWith(state: Deployment, name: string): Deployment {
  const revisions = state.revisions.map((one) =>
    one.canary === "is" || one.canary === "promoted" ? { ...one, canary: "gone" as const } : one,
  )
  const { canary: _, ...taken } = revisions.find((one) => one.name === name) as Revision
  return {
    ...state,
    revisions: revisions.map((one) => (one.name === name ? taken : one)),
    serving: name,
    standby: state.serving,
  }
}

function becameCanary(state: Deployment, name: string): Deployment {
  const revisions = state.revisions.map((one) => (one.canary === "is" ? { ...one, canary: "gone" as const } : one))
  return changed({ ...state, revisions }, name, { phase: "active", canary: "is" })
}

/** P6: the route is given back. */
function switchedBack(state: Deployment, name: string): Deployment {
  const serving = state.standby ?? state.serving
  return ended({ ...state, serving, active: serving, standby: undefined }, name, "DEPLOY_FAILED")
}

function step(
  state: Deployment,
  what: DeploymentOperation,
  outcome: OutcomeWith<DeploymentValue>,
  hasCanaries: boolean,
): readonly Deployment[] {
  const value = outcome.is === "ok" ? (outcome.value ?? {}) : {}
  const refused = outcome.is === "refused" && outcome.status === 409 ? [state] : []
  const unlessRefused = (next: Deployment) => (outcome.is === "refused" ? [] : [next])
  const named = "of" in what ? state.revisions.find(({ name }) => name === what.of) : undefined
  const newest = state.revisions.at(-1)
  if (!newest || ("of" in what && what.of !== undefined && !named)) return []
  const canary = hasCanaries ? { canary: "wanted" as const } : {}
  const added = (from: Deployment, revision: Omit<Revision, "phase">): Deployment[] =>
    unlessRefused({ ...from, revisions: [...from.revisions, { ...revision, phase: "early" }] })
  switch (what.op) {
    case "patch": {
      const { revision: name, op: _, ...change } = what
      return added(state, { name, ref: newest.ref, mark: newest.mark, ...canary, ...change })
    }
    case "create": {
      if (what.onConflict === undefined && state.revisions.some(isOpen)) return refused
      const from = what.onConflict === "supersede" ? interruptedAll(state) : state
      return added(from, { name: what.revision, ref: what.ref, mark: newest.mark, ...canary })
    }
    case "redeploy":
    case "rollback": {
      const target = what.op === "rollback" && what.of === undefined ? lastGood(state) : named
      if (!target || (what.op === "rollback" && target.status !== "DEPLOYED")) return refused
      // One that repeats a repetition repeats the revision that it repeats.
      const repeats = target.repeats ?? target.name
      return added(state, { name: what.revision, ref: target.ref, mark: target.mark, repeats })
    }
    case "interrupt":
      if (!named || after(named, "committed")) return named?.status === "INTERRUPTED" ? unlessRefused(state) : refused
      return unlessRefused(ended(state, named.name, "INTERRUPTED"))
    case "promote":
      return named ? promoted(state, named).flatMap((next) => (next ? unlessRefused(next) : refused)) : []
    case "abort":
      if (named?.canary === "is" || named?.canary === "promoted")
        return unlessRefused(changed(state, named.name, { canary: "gone" }))
      // Until its end is written it is refused.
      if (named?.canary === "gone" && named.phase === "active") return [state]
      return named?.canary === "gone" ? unlessRefused(state) : refused
    case "revision":
      return named && isSeen(named, value) ? [state] : []
    case "deployment":
      return value.latest === newest.name && value.active === state.active ? [state] : []
    case "address": {
      const edge = state.revisions.find(({ name }) => name === state.edge)
      return value.serves === state.edge && value.mark === edge?.mark ? [state] : []
    }
    case "list":
      return value.names?.join() === state.revisions.map(({ name }) => name).join() ? [state] : []
  }
}

/** A revision past the point of no return finishes, and the new one comes after it. */
const interruptedAll = (state: Deployment): Deployment =>
  state.revisions
    .filter((one) => !after(one, "committed"))
    .reduce((left, { name }) => ended(left, name, "INTERRUPTED"), state)

/** D11. One that is a canary, or was, comes after the one that serves, or has an error. */
function lastGood({ revisions, active }: Deployment): Revision | undefined {
  const serving = revisions.find(({ name }) => name === active)
  const origin = revisions.findIndex(({ name }) => name === (serving?.repeats ?? active))
  return revisions.slice(0, origin).findLast(({ status, canary }) => status === "DEPLOYED" && canary !== "gone")
}

/** @returns undefined in the list where it is refused */
function promoted(state: Deployment, { name, canary, phase }: Revision): (Deployment | undefined)[] {
  if (state.serving === name) return [state]
  if (canary === "is" || canary === "promoted") return [changed(state, name, { canary: "promoted" })]
  if (canary !== "wanted" || phase === "ended") return [undefined]
  // It takes over at its switch, unless that has begun.
  if (phase === "committed") return [undefined]
  const { canary: _, ...plain } = state.revisions.find((one) => one.name === name) as Revision
  return [{ ...state, revisions: state.revisions.map((one) => (one.name === name ? plain : one)) }]
}

function isSeen(revision: Revision, { status = "", ref, repeats }: DeploymentValue): boolean {
  if (ref !== revision.ref || (repeats ?? undefined) !== revision.repeats) return false
  if (revision.phase === "ended") return status === revision.status
  const isEarly = ["CREATING", "QUEUED", "AWAITING_BUILD"].includes(status)
  if (revision.phase === "early") return isEarly
  if (revision.phase === "late") return ["BUILDING", "AWAITING_DEPLOY", "DEPLOYING"].includes(status)
  return ["AWAITING_DEPLOY", "DEPLOYING"].includes(status)
}

/** The state in words, for people. */
export function describeDeployment({ revisions, serving, edge, standby, active }: Deployment): string {
  const words = revisions.map(({ name, phase, status, canary }) =>
    [name, status ?? phase, canary].filter(Boolean).join(" "),
  )
  return `${words.join(", ")}; serves ${serving} (edge ${edge}, standby ${standby ?? "none"}, active ${active})`
}
