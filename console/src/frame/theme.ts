/** Light or dark: as the system says, or as a person has chosen. `theme.css` has the colours. */
import { keptChoice } from "./kept-choice.js"

export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

export const themeChoice = keptChoice<Theme>("superstep.theme", themes)

/** Shows the chosen colours, now and after each change. */
export function applyTheme(): void {
  const apply = () => {
    const theme = themeChoice.read()
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme
  }
  apply()
  themeChoice.onChange(apply)
}
