"use strict";

// The index is made when someone first searches: not every reader does.
(() => {
  const up = document.currentScript.dataset.up;
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const pages = document.getElementById("pages");
  const MOST = 12;
  let index;

  const wide = window.matchMedia("(min-width: 51rem)");
  const fold = () => { pages.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();

  // Where words have digits, lunr 2.3.9 takes some for others: "15" is in its set of words for "10" and "5".
  const withoutDigits = (word) => word.replace(/[0-9]/g, (digit) => "ABCDEFGHIJ"[digit]);
  const replaceDigits = (token) => token.update(withoutDigits);
  lunr.Pipeline.registerFunction(replaceDigits, "replaceDigits");

  function makeIndex() {
    return lunr(function () {
      this.pipeline.add(replaceDigits);
      this.searchPipeline.add(replaceDigits);
      this.ref("id");
      this.field("heading", { boost: 8 });
      this.field("page", { boost: 4 });
      this.field("text");
      SECTIONS.forEach((section, id) => this.add({ id, ...section }));
    });
  }

  /** Every word, as it stands or as the beginning of a longer one. */
  function search(words) {
    index ??= makeIndex();
    return index.query((query) => {
      for (const word of lunr.tokenizer(words).map(String)) {
        query.term(word, { boost: 10, usePipeline: true });
        query.term(withoutDigits(word), { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false });
      }
    });
  }

  function entry(section) {
    const link = document.createElement("a");
    link.href = up + section.href;
    link.textContent = section.heading;
    const page = document.createElement("small");
    page.textContent = section.page;
    link.append(page);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }

  function nothing() {
    const item = document.createElement("li");
    const text = document.createElement("p");
    text.textContent = "Nothing found";
    item.append(text);
    return item;
  }

  input.addEventListener("input", () => {
    const words = input.value.trim();
    const results = words === "" ? [] : search(words).slice(0, MOST);
    const entries = results.map((result) => entry(SECTIONS[result.ref]));
    found.replaceChildren(...(words !== "" && entries.length === 0 ? [nothing()] : entries));
  });

  document.addEventListener("keydown", (event) => {
    const isTyping = document.activeElement instanceof HTMLInputElement;
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape") {
      found.replaceChildren();
    } else if (event.key === "Enter" && document.activeElement === input) {
      found.querySelector("a")?.click();
    }
  });
})();
