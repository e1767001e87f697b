/** The page with the hook in a headless Chromium, and what a test does with it. */
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { build } from "esbuild"
import { chromium } from "playwright-core"
import type { AgentServerProcess } from "../testing/agent-servers.js"

export interface ShownMessage {
  readonly id: string
  readonly type: string
  readonly content: string
  readonly branch?: string
  readonly branchOptions?: readonly string[]
}

export interface Shown {
  readonly threadId: string | null
  readonly messages: readonly ShownMessage[]
  readonly isLoading: boolean
  readonly interrupt?: unknown
  readonly error?: string
}

export interface ChatPage extends AsyncDisposable {
  /** Waits until the page shows this. */
  shows(what: string, fact: (shown: Shown) => boolean): Promise<Shown>
  /** Runs a line of JavaScript in the page, where `chat` is the hook and `given` the argument. */
  run(line: string, given?: unknown): Promise<unknown>
  reload(): Promise<void>
}

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

/** Opens the page on a new thread of a server, from another origin than the server's. */
export async function openChatPage(executablePath: string, server: AgentServerProcess): Promise<ChatPage> {
  const web = await servePage()
  const profile = join(temporaryFolder(), randomUUID())
  const browser = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: flags })
  const page = await browser.newPage()
  const address = new URL(web.url)
  address.searchParams.set("api", server.url)
  address.searchParams.set("headers", JSON.stringify(server.headers))
  const problems: string[] = []
  page.on("pageerror", (error) => problems.push(String(error)))
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()))
  await page.goto(String(address))

  const shown = async (): Promise<Shown> => JSON.parse((await page.locator("#state").textContent()) ?? "{}")
  return {
    shows: async (what, fact) => {
      let last: Shown | undefined
      const isShown = async () => {
        last = await shown()
        return fact(last) && last
      }
      return await until(isShown, { what, timeoutMs: 60_000 }).catch((cause: unknown) => {
        throw new Error(`${what}: ${JSON.stringify({ last, problems })}`, { cause })
      })
    },
    run: (line, given) => page.evaluate(`((given) => (${line}))(${JSON.stringify(given) ?? "undefined"})`),
    reload: async () => {
      await page.reload()
    },
    [Symbol.asyncDispose]: async () => {
      await browser.close()
      await web.close()
    },
  }
}

async function servePage() {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL("../../src/browser/page.mjs", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    define: { "process.env.NODE_ENV": '"production"' },
  })
  const script = bundle.outputFiles[0]?.contents ?? ""
  const html =
    '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/page.js"></script>'
  const server = createServer((request, reply) => {
    const isScript = request.url === "/page.js"
    reply.setHeader("content-type", isScript ? "text/javascript" : "text/html").end(isScript ? script : html)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}/`, close }
}

/** A gate for a run of `talk`: it says its last word when it is open. */
export function newGate() {
  const path = join(temporaryFolder(), randomUUID())
  return { path, open: () => writeFileSync(path, "") }
}
