"use strict";

// The index is made when someone first searches: not every reader does.
(() => {
  const up = document.currentScript.dataset.up;
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const MOST = 12;
  const BEFORE = 50;
  const SHOWN = 160;
  let index;

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

  function make(name, ...content) {
    const element = document.createElement(name);
    element.append(...content);
    return element;
  }

  /** The part of a text with the first of the words in it, and the words marked. */
  function snippet(text, words) {
    const patterns = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`(?<![A-Za-z])(${patterns.join("|")})`, "i");
    const at = text.search(pattern);
    const begin = at <= BEFORE ? 0 : text.lastIndexOf(" ", at - BEFORE) + 1;
    const end = text.length - begin <= SHOWN ? text.length : text.lastIndexOf(" ", begin + SHOWN);
    const part = (begin > 0 ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
    // Splitting by a pattern in parentheses keeps what matched, in every second place.
    return part.split(new RegExp(pattern, "gi")).map((piece, i) => i % 2 === 1 ? make("mark", piece) : piece);
  }

  function entry(section, words) {
    const page = section.page === section.heading ? [] : [make("small", section.page)];
    const link = make("a", make("b", section.heading), ...page, make("span", ...snippet(section.text, words)));
    link.href = up + section.href;
    return make("li", link);
  }

  const nothing = () => make("li", make("p", "Nothing found"));

  input.addEventListener("input", () => {
    const words = input.value.trim();
    const parts = words.toLowerCase().split(/\s+/);
    const missing = (section) => parts.filter((part) => !`${section.page} ${section.heading} ${section.text}`.toLowerCase().includes(part)).length;
    const results = words === "" ? [] : search(words).map((result) => SECTIONS[result.ref]);
    // Sections with all of the words come first.
    const best = results.map((section) => [missing(section), section]).sort(([one], [other]) => one - other).slice(0, MOST);
    const entries = best.map(([, section]) => entry(section, parts));
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
