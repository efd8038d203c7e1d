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
