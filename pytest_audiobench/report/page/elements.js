  // Data that is not JSON is deflated, in base64.
  async function inflated(text) {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  }
  const written = document.getElementById("data").textContent;
  const data = JSON.parse(written.startsWith("eJ") ? await inflated(written) : written);
  const byId = (id) => document.getElementById(id);
  const SHORT = 600;

  // Everything enters the document here, as text that shows what it holds: nothing on this page is ever parsed as markup.
  function filled(node, options, children) {
    for (const [name, value] of Object.entries(options || {})) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(name, value === true ? "" : name === "title" || name === "aria-label" ? visible(value) : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === "") continue;
      node.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
    }
    return node;
  }

  const el = (tag, options, ...children) => filled(document.createElement(tag), options, children);
  const svg = (tag, options, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), options, children);

  // Characters that show nothing, or that turn the text around them, are shown by a sign instead.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
  function visible(text) {
    return text.replace(HIDDEN, (character) => `\u27e8U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
  }

  function longText(value, className, short = SHORT) {
    const [text, missing] = Array.isArray(value) ? value : [value, 0];
    const shown = visible(text);
    const rest = missing ? ` … ${missing.toLocaleString("en")} more characters are in predictions.jsonl` : "";
    const body = el("span", { class: "text", dir: "auto" });
    const box = el("div", { class: className }, body);
    if (shown.length <= short * 1.3) {
      body.textContent = shown + rest;
      return box;
    }
    const button = el("button", { type: "button", class: "expand" });
    const draw = (open) => {
      body.textContent = open ? shown + rest : shown.slice(0, short) + "…";
      button.textContent = open ? "Show less" : `Show all ${(text.length + missing).toLocaleString("en")} characters`;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => draw(button.getAttribute("aria-expanded") !== "true"));
    draw(false);
    box.append(el("br"), button);
    return box;
  }

  const plainText = (value) => (Array.isArray(value) ? value[0] : value === null ? "" : value);
  const answerText = (text, className, short) =>
    plainText(text) === "" ? el("div", { class: `${className} soft` }, "an empty answer") : longText(text, className, short);
  const tag = (tone, text) => el("span", { class: `tag ${tone}` }, text);
  const SIGNS = { good: "✓ ", bad: "✗ ", warn: "! ", plain: "" };
  const named = (name, model) => (data.several ? `${name} · ${model}` : name);

  function facts(pairs) {
    const list = el("dl", { class: "facts" });
    for (const [name, value, className] of pairs) {
      if (value !== null && value !== "") list.append(el("dt", {}, name), el("dd", { class: className }, value));
    }
    return list;
  }

  function withLabels(heads, rows) {
    for (const row of rows) {
      if (![...row.cells].some((cell) => cell.colSpan > 1)) [...row.cells].forEach((cell, place) => cell.setAttribute("data-label", heads[place][0]));
    }
    return rows;
  }

  // In a `stacking` table each row becomes a card where the page is narrow, each cell with its column's name.
  function table(heads, rows, stacking) {
    const top = el("tr", {}, heads.map(([text, numeric, title, below]) => el("th", { scope: "col", class: numeric ? "number" : null, title }, text, below ? el("div", { class: "small" }, below) : null)));
    if (stacking) withLabels(heads, rows);
    return scrolling(el("table", { class: stacking ? "stacking" : null }, el("thead", {}, top), el("tbody", {}, rows)));
  }

  // What is wider than the page scrolls by itself, with the keyboard too; a stop for the keyboard only while it must.
  const scrollers = new ResizeObserver((entries) => {
    for (const [target, wide] of entries.map((one) => [one.target, one.target.scrollWidth > one.target.clientWidth])) {
      for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "A table that scrolls sideways"]]) {
        if (wide) target.setAttribute(name, value); else target.removeAttribute(name);
      }
    }
  });

  function scrolling(child) {
    const box = el("div", { class: "scroll" }, child);
    scrollers.observe(box);
    return box;
  }

  // Fills a details element when it is first open: what nobody looks at is not made.
  function whenOpen(box, make) {
    const fill = () => {
      if (!box.open || box.dataset.filled) return;
      box.dataset.filled = "yes";
      box.append(...make().flat(Infinity).filter(Boolean));
    };
    box.addEventListener("toggle", fill);
    fill();
  }

  const count = (number) => number.toLocaleString("en");
  const utc = (text) => text.replace("T", " ").replace(/(\.\d+)?(Z|\+00:00)$/, " UTC");

