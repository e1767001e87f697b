/** The states in which the gallery shows each page, and how a page comes into one. */
import type { ConsoleBrowser } from "../console-page.js"

/** `empty`: an agent, or a platform, that nobody has used. `error`: each request is answered with a 500, and each stream ends. */
export const states = ["full", "empty", "loading", "error"] as const
export type State = (typeof states)[number]

/** As `toolkit/src/http/errors.ts` answers for a bug. */
const bug = { detail: "internal error", code: "internal", request_id: "01a2-gallery" }

/**
 * Holds or fails the requests of the next pages: those for data, not those for the console itself or for who is signed in.
 * @param agents  the address of all agents
 * @returns       lets requests through again
 */
export async function enter(state: State, { context }: ConsoleBrowser, agents: string): Promise<() => Promise<void>> {
  if (state === "full" || state === "empty") return async () => undefined
  const isData = ({ href, pathname }: URL) =>
    (pathname.startsWith("/v2/") && pathname !== "/v2/console/session") ||
    pathname === "/health" ||
    href.startsWith(agents)
  await context.route(isData, (route) => {
    if (state === "error")
      return route.fulfill({ status: 500, json: bug, headers: { "access-control-allow-origin": "*" } })
    return undefined
  })
  return () => context.unroute(isData)
}
