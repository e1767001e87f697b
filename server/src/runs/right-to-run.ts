/** What a run's request does to the thread that it starts on, and who may ask for that (decision 94). Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { problemsOf } from "@superstep/toolkit/http/problems"
import { requireApproval } from "../acts/act.js"
import type { Caller } from "../auth/caller.js"
import { checkpointOf } from "./request.js"
import { type NewRunBody, newRun } from "./schema.js"

const isNothing = (value: unknown): boolean => value === undefined || value === null

const isNamed = (value: unknown, name: string): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && "lg_name" in value && value.lg_name === name

/**
 * LangGraph's `Command` as JSON, which RemoteGraph sends as the input. LangGraph JS takes such an input for a command.
 * @returns  the fields of the run's command; undefined for any other input
 */
export function commandOf(input: unknown): object | undefined {
  if (!isNamed(input, "Command")) return undefined
  const { lg_name: _, goto, ...fields } = input
  const targets = Array.isArray(goto) ? goto.map(targetOf) : targetOf(goto)
  const goesNowhere = isNothing(targets) || (Array.isArray(targets) && targets.length === 0)
  return { ...fields, ...(!goesNowhere && { goto: targets }) }
}

const targetOf = (target: unknown): unknown =>
  isNamed(target, "Send") ? { node: target.node, input: target.args } : target

/**
 * The same run with its command as `command`, also where the client gave it as the input: so nobody answers without the right to.
 * @param path  of the input, for the problems
 * @throws InvalidInput  the input is a command with wrong fields
 */
export function withCommand(body: NewRunBody, path: readonly (string | number)[]): NewRunBody {
  const given = isNothing(body.command) ? commandOf(body.input) : undefined
  if (given === undefined) return body
  const { result, value } = checkExact(newRun.shape.command, given)
  if (!result.success) throw new InvalidInput(problemsOf(result.error.issues, value, [...path]))
  return { ...body, input: undefined, command: result.data }
}

/** The parts of a run's request that decide what it does to its thread. */
export type AskedRun = Pick<
  NewRunBody,
  | "input"
  | "command"
  | "config"
  | "checkpoint"
  | "checkpoint_id"
  | "interrupt_before"
  | "interrupt_after"
  | "multitask_strategy"
>

/** A run without input goes on from the thread's checkpoint, past a breakpoint too; a command answers, or moves the graph elsewhere. */
export const goesOn = ({ input, command }: Pick<AskedRun, "input" | "command">): boolean =>
  !isNothing(command) || commandOf(input) !== undefined || isNothing(input)

/** A list of breakpoints replaces the graph's own. */
const movesBreakpoints = ({ interrupt_before: before, interrupt_after: after }: AskedRun): boolean =>
  [before, after].some((nodes) => !isNothing(nodes) && nodes !== "*")

/** The thread's newest state becomes that of an older checkpoint. Clients send an empty namespace for the graph itself. */
const leavesState = (run: AskedRun): boolean => {
  const { checkpoint_id: id, checkpoint_ns: ns, checkpoint_map: map } = checkpointOf(run)
  return id !== undefined || map !== undefined || (ns !== undefined && ns !== "")
}

/** @throws Forbidden  the caller may only start runs with an input, and this one would go on, or take back what others have done */
export function requireRightToRun(caller: Caller, run: AskedRun): void {
  if (goesOn(run) || movesBreakpoints(run))
    requireApproval(caller, "a run without input, with a command or with breakpoints")
  if (leavesState(run)) requireApproval(caller, "a run from a checkpoint")
  if (run.multitask_strategy === "rollback") requireApproval(caller, "a rollback")
}
