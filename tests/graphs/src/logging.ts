/** Logs through the SDK, once while its file is loaded and in each way from a node. */
import { Annotation, StateGraph } from "@langchain/langgraph"
import { getLogger } from "@langchain/langgraph-sdk/logging"

const logger = getLogger()
logger.info("the graph is loaded")

export const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
  .addNode("say", ({ said }) => {
    logger
      .warn(said, { words: said.split(" ").length, run_id: "mine" })
      .error("it failed", new TypeError("no such word"))
    logger.debug({ said })
    logger.silly({ message: "as an object", said })
    logger.info(["a", "list"], 1)
    return {}
  })
  .addEdge("__start__", "say")
  .compile()
