/** The auth module of the protocol's fixtures: a request names its user. */
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth"

export const auth = new Auth()
  .authenticate((request) => {
    const name = request.headers.get("x-name")
    if (name === null) throw new HTTPException(401, { message: "Who?", headers: { "www-authenticate": "Name" } })
    return { identity: name, permissions: ["all"], team: 7 }
  })
  .on("threads", ({ value, user }) => {
    Object.assign(value, { metadata: { owner: user.identity } })
    return { owner: user.identity }
  })
  .on("*:delete", () => false)
  .on("*", () => true)
