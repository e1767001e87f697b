/** Where the console is served: by the control plane, or by one agent (`superstep dev`). One build serves both. */
import { createContext, useContext } from "react"

export interface Home {
  readonly home: "platform" | "agent"
  readonly version: string
  /** The folder of the console, such as `http://127.0.0.1:8900/` or `http://127.0.0.1:2024/studio/`. */
  readonly base: URL
}

/** The scripts are in `<base>assets/`, so their address names the base in either home. */
export const baseOf = (script: string): URL => new URL("..", script)

/** @throws Error  the server does not answer with a description of itself */
export async function readHome(base = baseOf(import.meta.url)): Promise<Home> {
  const reply = await fetch(new URL("console.json", base))
  if (!reply.ok) throw new Error(`The server answered console.json with ${reply.status}.`)
  const { home, version } = (await reply.json()) as { home?: unknown; version?: unknown }
  if (home !== "platform" && home !== "agent") throw new Error("The server's console.json names no home.")
  return { home, version: typeof version === "string" ? version : "", base }
}

export const HomeContext = createContext<Home | undefined>(undefined)

export function useHome(): Home {
  const home = useContext(HomeContext)
  if (!home) throw new Error("useHome is called outside of HomeContext")
  return home
}
