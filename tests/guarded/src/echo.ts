/** Gives back who asks, as a node sees it. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const state = Annotation.Root({ text: Annotation<string>(), user: Annotation<unknown>() })

export const graph = new StateGraph(state)
  .addNode("echo", ({ text }, { configurable }) => ({
    text: `You said: ${text}`,
    user: {
      user: configurable?.langgraph_auth_user,
      id: configurable?.langgraph_auth_user_id,
      permissions: configurable?.langgraph_auth_permissions,
    },
  }))
  .addEdge("__start__", "echo")
  .compile()
