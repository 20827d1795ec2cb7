"use strict";

// Lists are open beside a page, and closed above it. Runs before the page is painted, so that nothing jumps.
for (const [list, width] of [[".pages", "51rem"], [".contents", "76rem"]]) {
  const details = document.querySelector(list);
  if (details !== null) {
    const wide = window.matchMedia(`(min-width: ${width})`);
    const fold = () => { details.open = wide.matches; };
    wide.addEventListener("change", fold);
    fold();
  }
}
document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest" });
