import { h } from "vue"

/** The control plane serves its console at the root, outside of this site's base, which links of the theme cannot leave. */
export default () => h("a", { href: "/", target: "_self", class: "VPNavBarMenuLink console-link" }, "Console")
