/** The page with the hook in a headless Chromium, and what a test does with it. */
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { build, type Plugin } from "esbuild"
import { chromium, type Page } from "playwright-core"
import type { AgentServerProcess } from "../testing/agent-servers.js"
import { chromiumFlags } from "./front-ends.js"

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

/** @typeParam S  what the page shows */
export interface ChatPage<S = Shown> extends AsyncDisposable {
  /** Waits until the page shows this. */
  shows(what: string, fact: (shown: S) => boolean): Promise<S>
  /** Runs a line of JavaScript in the page, where `chat` is the hook and `given` the argument. */
  run(line: string, given?: unknown): Promise<unknown>
  reload(): Promise<void>
  /** Opens the same page in another tab, with these parameters of its address besides: `thread` for a thread. */
  another(parameters?: Readonly<Record<string, string>>): Promise<ChatPage<S>>
}

/** Where the page finds the server. */
export type ServerAddress = Pick<AgentServerProcess, "url" | "headers">

export interface PageOptions {
  /** The page's script; its imports are found from its folder. */
  readonly script: string
  /** Gives the page's imports of the SDK the one beside its script: some packages come with an older one of their own. */
  readonly hasNewestSdk?: boolean
  /** JSX texts that the script imports, by name. */
  readonly modules?: Readonly<Record<string, string>>
  /** Parameters of the page's address. */
  readonly parameters?: Readonly<Record<string, string>>
}

const useStreamPage = fileURLToPath(new URL("../../src/browser/page.mjs", import.meta.url))

/** Opens a page on a new thread of a server, from another origin than the server's. */
export async function openChatPage<S = Shown>(
  executablePath: string,
  server: ServerAddress,
  { script, hasNewestSdk = false, modules = {}, parameters = {} }: PageOptions = { script: useStreamPage },
): Promise<ChatPage<S>> {
  const web = await servePage(script, [textModules(script, modules), ...(hasNewestSdk ? [sdkBeside(script)] : [])])
  const profile = join(temporaryFolder(), randomUUID())
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: chromiumFlags,
  })
  const addressOf = (further: Readonly<Record<string, string>>) => {
    const query = { api: server.url, headers: JSON.stringify(server.headers), ...parameters, ...further }
    return `${web.url}?${new URLSearchParams(query)}`
  }
  const openTab = async (address: string): Promise<ChatPage<S>> => {
    const page = await browser.newPage()
    const another = (further: Readonly<Record<string, string>> = {}) => openTab(addressOf(further))
    return { ...(await pageAt<S>(page, address)), another, [Symbol.asyncDispose]: () => page.close() }
  }
  const close = async () => {
    await browser.close()
    await web.close()
  }
  return { ...(await openTab(addressOf({}))), [Symbol.asyncDispose]: close }
}

async function pageAt<S>(page: Page, address: string): Promise<Pick<ChatPage<S>, "shows" | "run" | "reload">> {
  const problems: string[] = []
  page.on("pageerror", (error) => problems.push(String(error)))
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()))
  await page.goto(address)
  const shown = async (): Promise<S> => JSON.parse((await page.locator("#state").textContent()) ?? "{}")
  return {
    shows: async (what, fact) => {
      let last: S | undefined
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
  }
}

const sdkBeside = (script: string): Plugin => ({
  name: "the SDK beside the page's script",
  setup: ({ onResolve, resolve }) => {
    onResolve({ filter: /^@langchain\/langgraph-sdk/ }, ({ path, kind, pluginData }) =>
      pluginData === "resolved"
        ? undefined
        : resolve(path, { kind, resolveDir: dirname(script), pluginData: "resolved" }),
    )
  },
})

const textModules = (script: string, modules: Readonly<Record<string, string>>): Plugin => ({
  name: "modules that are texts",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /:/ }, ({ path }) => (path in modules ? { path, namespace: "text" } : undefined))
    onLoad({ filter: /./, namespace: "text" }, ({ path }) => ({
      contents: modules[path] ?? "",
      loader: "jsx",
      resolveDir: dirname(script),
    }))
  },
})

async function servePage(script: string, plugins: Plugin[]) {
  const bundle = await build({
    entryPoints: [script],
    plugins,
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  })
  const bundled = bundle.outputFiles[0]?.contents ?? ""
  const html =
    '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/page.js"></script>'
  const server = createServer((request, reply) => {
    const isScript = request.url === "/page.js"
    reply.setHeader("content-type", isScript ? "text/javascript" : "text/html").end(isScript ? bundled : html)
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
