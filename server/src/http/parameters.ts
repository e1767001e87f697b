/** What stands in paths, queries and bodies of several routes. */
import { isPlainText } from "@superstep/toolkit/db/text"
import { z } from "zod"

/**
 * An id from a client: a UUID of any version, which `z.uuid()` would not all accept. In lower case, since it is compared
 * with texts, such as the thread of a checkpoint.
 */
export const uuid = z.guid("expected a UUID").transform((id) => id.toLowerCase())

/** Query booleans come as `true`, `True`, `1` or `yes`; everything else is false (agent-server-api §1.2). */
export const queryFlag = z
  .string()
  .optional()
  .transform((text) => /^(true|1|yes)$/i.test(text ?? ""))

/** A text that goes into a column or a parameter of type `text`, such as a name. */
export const plainText = z.string().refine(isPlainText, "expected text without U+0000 and without half surrogate pairs")

/**
 * A list in a query. The clients spell one in three ways: repeated keys (`select=a&select=b`), one JSON list
 * (`select=["a","b"]`) and one list by comma (`select=a,b`) (agent-server-api §1.2).
 * @param item  what each entry must be, from its text
 * @returns     undefined when the key is absent, or names nothing
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

/** What one value of the key names: entries that are no text are left for the item's schema to refuse. */
function entriesOf(text: string): unknown[] {
  if (!text.startsWith("[")) return text.split(",").filter((entry) => entry !== "")
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    // Not JSON after all: the whole text is one entry, which the schema judges.
    return [text]
  }
}
