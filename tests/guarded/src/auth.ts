/** Owners, as in LangGraph's documentation: everybody sees what is their own. A token is `<name>-token`. */
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth"

const users = ["ada", "bob"]

export const auth = new Auth()
  .authenticate((request) => {
    const [, token] = (request.headers.get("authorization") ?? "").split(" ")
    if (token === undefined) {
      const headers = { "www-authenticate": 'Bearer realm="agents"', "content-type": "text/html" }
      throw new HTTPException(401, { message: "Send a token.", headers })
    }
    if (token === "broken-token") throw new Error("the identity provider at 10.0.0.7 is down")
    if (token === "odd-token") return 42 as never
    if (token === "plain-token") return "plain"
    const name = token.replace(/-token$/, "")
    if (!users.includes(name)) throw new HTTPException(403, { message: "This token was revoked." })
    return { identity: name, display_name: name.toUpperCase(), permissions: ["agents"], team: { id: 7 } }
  })
  .on("*", ({ value, user, event }) => {
    if (user.identity === "plain") return undefined
    const owned = value as { metadata?: Record<string, unknown> }
    if (/:(create|create_run|update)$/.test(event)) owned.metadata = { ...owned.metadata, owner: user.identity }
    return { owner: user.identity }
  })
  .on("threads:create", ({ value, user, permissions }) => {
    const { metadata = {} } = value as { metadata?: Record<string, unknown> }
    if (metadata.forbidden === true) return false
    if (metadata.forbidden === "politely")
      throw new HTTPException(402, { message: "Pay first.", headers: { "x-price": "1" } })
    if (metadata.forbidden === "oddly") return { owner: { $regex: ".*" } } as never
    if (metadata.forbidden === "without a value") return { owner: undefined } as never
    Object.assign(value, { metadata: { ...metadata, owner: user.identity, may: permissions } })
    return { owner: user.identity }
  })
  .on("store", ({ value, user }) => {
    const { namespace } = value as { namespace?: string[] }
    if (user.identity === "plain") return true
    if (namespace?.[0] !== user.identity) throw new HTTPException(403, { message: "That is not your namespace." })
    return true
  })
