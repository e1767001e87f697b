/** Decides which requests to an agent only read. A key with the scope `read` may send these and no others (K5). Pure. */
import { urlQuery, withoutQuery } from "./target.js"

// Queries that clients send by POST because they have a body.
const questions = [
  /^\/(assistants|threads|runs\/crons)\/(search|count)$/,
  /^\/runs\/search$/,
  /^\/assistants\/[\w-]+\/versions$/,
  /^\/threads\/[\w-]+\/(history|state\/checkpoint|stream\/events)$/,
  /^\/store\/(items\/search|namespaces)$/,
]

/**
 * Everything else may change something. A GET of a project's own routes counts as reading, as HTTP defines it (RFC 9110
 * §9.2.1).
 * @param path       below `/d/<name>`, as it was sent
 * @param isUpgrade  a WebSocket is never only a read: its messages may be anything
 */
export function onlyReads({ method, path, isUpgrade = false }: Readonly<Asked>): boolean {
  if (isUpgrade) return false
  if (method === "GET" || method === "HEAD") return !cancelsRuns(path)
  return method === "POST" && questions.some((question) => question.test(withoutQuery(path)))
}

interface Asked {
  method: string
  path: string
  isUpgrade?: boolean | undefined
}

/** A caller that joins a run may ask to cancel it on disconnect. The server takes `1`, `true` and `yes`. */
const cancelsRuns = (path: string): boolean =>
  urlQuery(path)
    .getAll("cancel_on_disconnect")
    .some((value) => !/^(0|false|no)?$/i.test(value))
