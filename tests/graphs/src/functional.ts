/** A functional graph: a model in a task of a task, and a tool in a graph that is called. Its twin is in Python. */
import { tool } from "@langchain/core/tools"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { Annotation, entrypoint, StateGraph, task } from "@langchain/langgraph"
import { z } from "zod"

const model = new FakeListChatModel({ responses: ["ok"] })

const say = task("say", async (word: string) => String((await model.invoke(word)).content))

const relay = task("relay", async (word: string) => await say(word))

const shout = tool(({ word }) => `${word}!`, {
  name: "shout",
  description: "Shouts.",
  schema: z.object({ word: z.string() }),
})

const inner = new StateGraph(Annotation.Root({ word: Annotation<string> }))
  .addNode("look", async ({ word }) => ({ word: String(await shout.invoke({ word })) }))
  .addEdge("__start__", "look")
  .compile()

export const graph = entrypoint("functional", async ({ word }: { word: string }) => {
  const said = await relay(word)
  const { word: shouted } = await inner.invoke({ word })
  return { said, shouted }
})
