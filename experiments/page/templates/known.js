// A link to what is known opens it.
"use strict";
(() => {
  const open = () => {
    const known = document.getElementById(location.hash.slice(1));
    if (known instanceof HTMLDetailsElement) known.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
