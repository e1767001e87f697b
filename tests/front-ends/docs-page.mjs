/** A page with the component `Chat` of docs/streaming.md. */
import { Chat } from "docs:example"
import { createElement } from "react"
import { createRoot } from "react-dom/client"

const parameters = new URL(location.href).searchParams
const chat = createElement(Chat, { apiUrl: parameters.get("api"), apiKey: parameters.get("key") })
createRoot(document.getElementById("root")).render(chat)
