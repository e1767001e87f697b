/** Schemas of parameters that several routes share. */
import { parseJson } from "@superstep/toolkit/http/json"
import { z } from "zod"

export { jsonObject } from "@superstep/toolkit/http/json-object"
export { plainText } from "@superstep/toolkit/text/storable"

/**
 * An id from a client: a UUID of any version (`z.uuid()` does not accept all of them). In lower case, because ids are
 * compared with texts, such as the thread of a checkpoint.
 */
export const uuid = z.guid("expected a UUID").transform((id) => id.toLowerCase())

/** A boolean in a query: `true`, `1` and `yes` in any case are true, everything else is false (agent-server-api §1.2). */
export const queryFlag = z
  .string()
  .optional()
  .transform((text) => /^(true|1|yes)$/i.test(text ?? ""))

/**
 * A list in a query. Clients write lists in three ways: repeated keys (`select=a&select=b`), a JSON list
 * (`select=["a","b"]`) and comma-separated (`select=a,b`) (agent-server-api §1.2).
 * @param item  the schema of each entry
 * @returns     undefined when the key is absent or the list is empty
 */
export const queryList = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((value, context): z.output<Item>[] | undefined => {
      if (value === undefined) return undefined
      const parsed = z.array(item).safeParse([value].flat().flatMap(entriesOf))
      if (parsed.success) return parsed.data.length === 0 ? undefined : parsed.data
      for (const { message } of parsed.error.issues) context.addIssue({ code: "custom", message })
      return z.NEVER
    })
    .meta({ type: "array", items: { type: "string" } })

/** The entries in one value of the key. The item's schema rejects entries that are not text. */
function entriesOf(text: string): unknown[] {
  if (!text.startsWith("[")) return text.split(",").filter((entry) => entry !== "")
  try {
    return parseJson(text) as unknown[]
  } catch {
    // Not JSON: the whole text is one entry, which the schema validates.
    return [text]
  }
}
