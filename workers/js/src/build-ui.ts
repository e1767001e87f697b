/** `node build-ui.js ORDER`: bundles a project's UI components and ends. ORDER is JSON, see server/src/ui. */
import { build } from "@langchain/langgraph-ui"

await build(JSON.parse(process.argv[2] ?? "{}"))
