/** Routes and middleware of a project: they add, shadow and wrap routes of the server. */
import { Client } from "@langchain/langgraph-sdk"
import { Hono } from "hono"
import { HTTPException } from "hono/http-exception"
import { streamText } from "hono/streaming"

let delivered: unknown
let seen = 0

export const app = new Hono<{ Bindings: { auth?: { user: { identity: string } } } }>()
  .get("/custom/who", (c) => c.json(c.env.auth?.user.identity ?? null))
  .use(async (c, next) => {
    seen += 1
    if (c.req.query("interrupt") !== undefined) return c.json({ status: "interrupted" })
    await next()
    c.header("x-wrapped", c.req.path)
  })
  .use("/runs/*", async (c, next) => {
    if (c.req.header("x-say") !== undefined) {
      const body = await c.req.json()
      const input = { text: c.req.header("x-say") }
      c.req.raw = new Request(c.req.raw.url, {
        method: "POST",
        headers: c.req.raw.headers,
        body: JSON.stringify({ ...body, input }),
      })
    }
    await next()
  })
  .use("/threads", async (c, next) => {
    const body = await c.req.json()
    c.header("x-read-first", JSON.stringify(body))
    await next()
  })
  .get("/custom/hello", (c) => c.json({ hello: c.req.header("x-name") ?? "you" }))
  .get("/custom/seen", (c) => c.json({ seen }))
  .get("/custom/error", () => {
    throw new HTTPException(418, { message: "no coffee" })
  })
  .get("/custom/long-header", (c) => c.text("", 200, { "x-long": "a".repeat(300_000) }))
  .get("/custom/bug", () => {
    throw new Error("a bug")
  })
  .get("/custom/end", () => process.exit(3))
  .get("/custom/words", (c) =>
    streamText(c, async (stream) => {
      for (const word of ["one", "two"]) await stream.writeln(word)
      // The rest never comes: whoever reads sees that nothing waits for the end.
      await new Promise((resolve) => stream.onAbort(() => resolve(undefined)))
    }),
  )
  .get("/custom/client", async (c) => c.json(await new Client().runs.wait(null, "echo", { input: { text: "myself" } })))
  .post("/custom/hook", async (c) => {
    delivered = await c.req.json()
    return c.json({ ok: true })
  })
  .get("/custom/delivered", (c) => c.json(delivered ?? null))
  .get("/runs/afakeroute", (c) => c.json({ fake: true }))
  // A project's own words for what it does not know come after the server's routes, so they are never heard.
  .notFound((c) => c.json({ never: true }, 404))
