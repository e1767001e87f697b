/** An auth module whose handlers throw an error that cannot be read. */
import { Auth } from "@langchain/langgraph-sdk/auth"
import { Unreadable } from "./unreadable.js"

const fail = (): never => {
  throw new Unreadable()
}

export const auth = new Auth().authenticate(fail).on("*", fail)
