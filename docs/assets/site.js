// The search takes a dash in front of a word for "without it", and two for an error: `--queues` is meant as a name.
"use strict";
(() => {
  const field = document.querySelector("input[data-md-component=search-query]");
  if (!field) return;
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  Object.defineProperty(field, "value", {
    get() { return value.get.call(this).replace(/(^|\s)-+(?=\w)/g, "$1"); },
    set(text) { value.set.call(this, text); },
  });
})();
// The theme's search has no name, its inner lists share names, and what scrolls isn't reached by keys.
(() => {
  const search = document.querySelector("[data-md-component=search]");
  if (search) search.setAttribute("aria-label", "Search");
  const inner = () => {
    document.querySelectorAll("nav nav, nav.md-code__nav").forEach((part, place) => {
      const title = document.getElementById(part.getAttribute("aria-labelledby"));
      part.dataset.name ||= (title ? title.textContent.trim() : part.getAttribute("aria-label")) || "part";
      part.removeAttribute("aria-labelledby");
      part.setAttribute("aria-label", `${part.dataset.name} ${place + 1}`);
    });
    for (const part of document.querySelectorAll("pre code, .md-typeset__scrollwrap")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0; else part.removeAttribute("tabindex");
    }
  };
  // Buttons of code and wraps of tables come later, from the theme's script
  new MutationObserver(inner).observe(document.body, { childList: true, subtree: true });
  addEventListener("resize", inner);
  inner();
})();
