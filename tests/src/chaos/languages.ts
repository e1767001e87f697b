/** The graphs of the campaign in each language. */
import { languagesOf } from "../testing/languages.js"

export const chaosLanguages = languagesOf({
  JavaScript: "tests/chaos/langgraph.json",
  Python: "tests/chaos-python/langgraph.json",
})
