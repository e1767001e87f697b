// As in the .gitignore of the examples. A source archive has no git to ask.
const names = new Set([
  ...["node_modules", "dist", ".env", ".superstep", ".langgraph_api"],
  ...[".venv", "__pycache__"],
])

/** Whether running an example leaves a file of this name in its folder. An `.env` may have a key in it, so these are never copied or shown. */
export const isLeftBehind = (name) => names.has(name)
