import DefaultTheme from "vitepress/theme-without-fonts"
import ConsoleLink from "./ConsoleLink.mjs"
import "./style.css"

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component("ConsoleLink", ConsoleLink),
}
