/** The page with the hook of `@langchain/react`, and what a test does with it. */
import { type ChatPage, openChatPage, type ServerAddress } from "./chat-page.js"
import { chromium, frontEnd } from "./front-ends.js"

export interface ReactShown {
  readonly threadId: string | null
  readonly messages: readonly { readonly id: string; readonly type: string; readonly content: string }[]
  readonly isLoading: boolean
  readonly interrupts: readonly { readonly id: string; readonly value: unknown }[]
  readonly error?: string
  readonly toolCalls: readonly { readonly name: string; readonly output: unknown; readonly status: string }[]
  readonly subagents: readonly { readonly name: string; readonly status: string }[]
  readonly subgraphs: readonly { readonly nodeName: string; readonly status: string }[]
}

export type ReactPage = ChatPage<ReactShown>

/** Which SDK the hook uses. `@langchain/react` 1.1.0 brings 1.11.0, and works with a newer one. */
export type Sdk = "its own SDK" | "the newest SDK"

export const openReactPage = (
  server: ServerAddress,
  sdk: Sdk,
  parameters: Readonly<Record<string, string>> = {},
): Promise<ReactPage> => {
  const script = frontEnd("react-chat.mjs")
  return openChatPage(chromium, server, { script, hasNewestSdk: sdk === "the newest SDK", parameters })
}

export const texts = ({ messages }: ReactShown): string[] => messages.map(({ content }) => content)

export const isSettled =
  (...expected: readonly string[]) =>
  (shown: ReactShown): boolean =>
    !shown.isLoading && JSON.stringify(texts(shown)) === JSON.stringify(expected)

/** Whether the last messages are these, while the run goes on. */
export const isSaying =
  (...expected: readonly string[]) =>
  (shown: ReactShown): boolean =>
    shown.isLoading && JSON.stringify(texts(shown).slice(-expected.length)) === JSON.stringify(expected)

/** Sends a message; with `gate`, the answer's last word waits for that file. */
export const submit = (
  page: ReactPage,
  text: string,
  { gate, ...options }: { gate?: string; forkFrom?: string } = {},
) =>
  page.run("void chat.submit({ messages: [{ type: 'human', content: given.text }] }, given.options)", {
    text,
    options: { ...options, ...(gate !== undefined && { config: { configurable: { gate } } }) },
  })

/** Every message once. */
export const areDistinct = ({ messages }: ReactShown): boolean =>
  new Set(messages.map(({ id }) => id)).size === messages.length
