/** What stands in paths, queries and bodies of several routes. */
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
