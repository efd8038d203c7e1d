// A link to what is known, or to a part of the page, opens it and what it is in.
"use strict";
(() => {
  const open = () => {
    const known = document.getElementById(location.hash.slice(1));
    if (!known) return;
    if (known.tagName === "SECTION") known.querySelectorAll(":scope > details.fold").forEach((part) => { part.open = true; });
    for (let part = known.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    known.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
