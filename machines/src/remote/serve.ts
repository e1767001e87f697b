/** The machine process's side: performs what the control plane asks, after a check of the call and its arguments. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { z } from "zod"
import { type Areas, table } from "./calls.js"
import type { Answer } from "./channel.js"

/** @returns  answers to calls; a call that is not in the table, or has other arguments, is refused and does nothing */
export const serveMachine =
  (areas: Areas): Answer =>
  (name, args) => {
    const [area = "", method = "", ...rest] = name.split(".")
    const schema = rest.length === 0 ? own(own(table, area), method) : undefined
    if (!schema) throw new InvalidInput("no such call", "refused_call")
    const parsed = (schema as z.ZodType<readonly unknown[]>).safeParse(args)
    if (!parsed.success)
      throw new InvalidInput(
        parsed.error.issues.map(({ path, message }) => ({ path: path.map(String), message, type: "value_error" })),
        "refused_call",
      )
    const perform = own(own(areas, area), method) as (...args: readonly unknown[]) => unknown
    return perform(...parsed.data)
  }

/** Not what an object inherits, such as `constructor`. */
const own = (object: unknown, key: string): unknown =>
  typeof object === "object" && object !== null && Object.hasOwn(object, key)
    ? (object as Record<string, unknown>)[key]
    : undefined
